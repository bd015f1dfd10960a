-- The visitors that belong to some persons, and maybe others: those that were ever noted under them, and the anonymous ids that these were
-- identified with. Key: environment; the indexes of root and known skip granules.
SELECT visitor
FROM roots
WHERE environment = {environment:UInt64} AND root IN {persons:Array(UInt64)}
UNION DISTINCT
SELECT anonymous AS visitor
FROM links
WHERE environment = {environment:UInt64}
    AND known IN (SELECT arrayJoin({persons:Array(UInt64)}) UNION ALL SELECT visitor FROM roots WHERE environment = {environment:UInt64} AND root IN {persons:Array(UInt64)})
