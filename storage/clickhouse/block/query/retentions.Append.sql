-- Stores the retention of an environment in days. The rows follow.
INSERT INTO retentions (environment, days, at) VALUES ({environment:UInt64}, {days:UInt32}, {now:DateTime64(3, 'UTC')})
