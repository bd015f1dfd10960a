-- Adds to the evaluations of flags. Key: none; an insert.
INSERT INTO flag_counts (environment, flag, variant, day, count)
