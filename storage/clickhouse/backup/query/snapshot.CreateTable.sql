-- Creates an empty table of a snapshot. No table is read.
CREATE TABLE $(snapshot).$(table) AS $(table)
