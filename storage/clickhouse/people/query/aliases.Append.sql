-- Ties visitors together. It may be repeated.
INSERT INTO aliases (environment, low, high, first)
