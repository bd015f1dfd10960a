-- The rows of an environment that came in some blocks. Key: environment.
SELECT * FROM $(table) WHERE environment = {environment:UInt64} AND block IN {blocks:Array(UInt64)}
