-- The root of every visitor that an alias names. Key: environment. Part of other queries.
SELECT visitor, argMax(root, edges) AS root
FROM roots
WHERE environment = {environment:UInt64}
GROUP BY visitor
