-- The ids of visitors, their sessions, and the sources and places of their visits. Key: environment, visitor. Rows
-- returned: one per visitor.
SELECT visitor, any(id), uniqExactMerge(sessions), argMinIfMerge(first_touch), argMaxIfMerge(last_touch), argMaxIfMerge(place)
FROM arrivals
WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
GROUP BY visitor
