-- Makes a table of a copy share the current parts of its original: the files are linked. No row is read.
ALTER TABLE $(database).$(table) ATTACH PARTITION ALL FROM $(table)
