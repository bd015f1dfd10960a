-- The visitors that more than one person used, with their spans, as persons.Links has them. Key: environment of links and
-- roots. Rows read: one per link, and all of the anonymous ids that were identified as two known ones. Part of other queries.
SELECT visitor, spans
FROM
(
    SELECT
        l.anonymous AS visitor,
        max(l.known = l.anonymous) AS told,
        arraySort(groupArrayIf((toUnixTimestamp64Milli(l.since), if(r.root = 0, l.known, r.root)), l.known != l.anonymous)) AS spans
    FROM
    (
        SELECT anonymous, known, min(first) AS since
        FROM links
        WHERE environment = {environment:UInt64} AND anonymous IN
        (
            SELECT anonymous
            FROM links
            WHERE environment = {environment:UInt64} AND anonymous != known
            GROUP BY anonymous
            HAVING min(known) != max(known)
        )
        GROUP BY anonymous, known
    ) AS l
    LEFT JOIN ($(persons.Roots)) AS r ON r.visitor = l.known
    GROUP BY visitor
)
WHERE NOT told AND length(arrayDistinct(arrayMap(span -> span.2, spans))) > 1
