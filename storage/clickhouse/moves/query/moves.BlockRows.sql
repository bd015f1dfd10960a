-- The rows of an environment from some blocks. Key: environment.
SELECT * FROM $(table) WHERE environment = {environment:UInt64} AND block IN {blocks:Array(UInt64)}
