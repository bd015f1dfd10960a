-- The roots of an environment, with the number of aliases of which they were made. Key: environment.
SELECT visitor, argMax(root, edges), max(edges)
FROM roots
WHERE environment = {environment:UInt64}
GROUP BY visitor
