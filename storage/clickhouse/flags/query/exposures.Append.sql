-- Adds first exposures to variants. Key: none; an insert.
INSERT INTO flag_exposures (environment, flag, visitor, variant, first, expires)
