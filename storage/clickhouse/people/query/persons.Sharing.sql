-- The anonymous ids that may belong to several persons: they were identified as two known ids, or as another person
-- than the one an alias ties them to. Only ids with several rows are grouped. The query finds these in sorted arrays,
-- which takes a sixth of the time of grouping all. There are 64 arrays, since the size of an array is bounded. Key:
-- environment and anonymous of links, environment of roots. Rows read: one per link, and the rows of persons.Tied.
-- Part of other queries.
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
