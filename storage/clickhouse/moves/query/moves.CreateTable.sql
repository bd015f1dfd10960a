-- Creates an empty table of a copy. No table is read.
CREATE TABLE $(database).$(table) AS $(table)
