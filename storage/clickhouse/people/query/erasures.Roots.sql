-- The roots of visitors of an erasure. Key: environment, visitor. Rows returned: at most one per visitor.
SELECT DISTINCT root
FROM roots
WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
