-- Adds the rows of a table of a copy to its original, past the views that follow it: the files are linked. No row
-- is read.
ALTER TABLE $(table) ATTACH PARTITION ALL FROM $(database).$(table)
