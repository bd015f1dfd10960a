-- Adds rows to a table or a copy of it. Key: none, reads nothing.
INSERT INTO $(table)
