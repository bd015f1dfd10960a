-- Which visitors were identified. Key: environment, visitor. Rows returned: at most one per visitor.
SELECT visitor
FROM traits
WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
GROUP BY visitor
HAVING max(identified) = 1
