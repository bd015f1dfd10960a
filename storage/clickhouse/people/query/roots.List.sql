-- The roots of an environment, with the number of alias edges from which they were computed. Key: environment.
SELECT visitor, argMax(root, edges), max(edges)
FROM roots
WHERE environment = {environment:UInt64}
GROUP BY visitor
