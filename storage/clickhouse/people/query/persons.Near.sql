-- The visitors that may belong to some persons: visitors that ever had one of them as root, and the anonymous ids that
-- were identified as any of these. Key: environment; the indexes of root and known skip granules.
SELECT visitor
FROM roots
WHERE environment = {environment:UInt64} AND root IN {persons:Array(UInt64)}
UNION DISTINCT
SELECT anonymous AS visitor
FROM links
WHERE environment = {environment:UInt64}
    AND known IN (SELECT arrayJoin({persons:Array(UInt64)}) UNION ALL SELECT visitor FROM roots WHERE environment = {environment:UInt64} AND root IN {persons:Array(UInt64)})
