-- Stores alias edges. It may be repeated.
INSERT INTO aliases (environment, low, high, first)
