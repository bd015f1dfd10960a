-- The rows of an environment in a table or a copy of it. Key: environment.
SELECT * FROM $(table) WHERE environment = {environment:UInt64}
