-- Has a table of a snapshot share the parts of its original, as they are now: the files are linked,
-- not copied. No row is read.
ALTER TABLE $(snapshot).$(table) ATTACH PARTITION ALL FROM $(table)
