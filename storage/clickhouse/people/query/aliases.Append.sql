-- Ties two visitors together. It may be repeated.
INSERT INTO aliases (environment, low, high, first) VALUES ({environment:UInt64}, {low:UInt64}, {high:UInt64}, {now:DateTime64(3, 'UTC')})
