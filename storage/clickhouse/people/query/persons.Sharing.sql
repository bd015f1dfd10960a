-- The anonymous ids that may belong to several persons: that were identified as two known ones, or as another one than whom an alias ties them
-- to. Only ids with several rows are grouped; they are found among sorted ones, which takes a sixth of grouping all, in 64 parts, since an array
-- is bounded. Key: environment and anonymous of links, environment of roots. Rows read: one per link, and those of persons.Tied. Part of other queries.
SELECT anonymous AS visitor
FROM links
WHERE environment = {environment:UInt64} AND anonymous != known AND anonymous IN
    (
        SELECT arrayJoin(arrayFilter((id, before) -> id = before, ids, arrayPushFront(arrayPopBack(ids), toUInt64(0))))
        FROM
        (
            SELECT arraySort(groupArray(anonymous)) AS ids
            FROM links
            WHERE environment = {environment:UInt64} AND anonymous != known
            GROUP BY bitShiftRight(anonymous, 58)
        )
    )
GROUP BY anonymous
HAVING min(known) != max(known)
UNION DISTINCT
SELECT visitor FROM ($(persons.Tied))
