-- Whether a table has rows of an environment. Key: environment. Rows read: a granule.
SELECT count() FROM (SELECT 1 FROM $(table) WHERE environment = {environment:UInt64} LIMIT 1)
