-- Adds the rows of a table of a copy to its original and bypasses the views of that table: the files are linked. No
-- row is read.
ALTER TABLE $(table) ATTACH PARTITION ALL FROM $(database).$(table)
