-- The ids of visitors, and their sessions. Key: environment, visitor. Rows returned: one per visitor.
SELECT visitor, any(id), uniqExactMerge(sessions)
FROM arrivals
WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
GROUP BY visitor
