-- Makes a table of a snapshot share the current parts of its original: the files are linked, not copied. No row is
-- read.
ALTER TABLE $(snapshot).$(table) ATTACH PARTITION ALL FROM $(table)
