-- Removes the rows of an environment from a table. Key: environment.
ALTER TABLE $(table) DELETE WHERE environment = {environment:UInt64}
