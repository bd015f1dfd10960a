-- Has a table of a copy share the parts of its original, as they are now: the files are linked. No row is read.
ALTER TABLE $(database).$(table) ATTACH PARTITION ALL FROM $(table)
