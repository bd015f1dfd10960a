-- The blocks from a number on that have rows of an environment. Key: environment. Rows returned: one for each block.
SELECT block
FROM
(
    SELECT DISTINCT block FROM events WHERE environment = {environment:UInt64} AND block >= {since:UInt64}
    UNION DISTINCT
    SELECT DISTINCT block FROM occurrences WHERE environment = {environment:UInt64} AND block >= {since:UInt64}
    UNION DISTINCT
    SELECT DISTINCT block FROM metric_points WHERE environment = {environment:UInt64} AND block >= {since:UInt64}
)
