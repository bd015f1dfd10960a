-- The visitors that more than one person used, with spans as in persons.Links. Key: environment of links and roots.
-- Rows read: one per link, all links of the anonymous ids that were identified as two known ids or that an alias
-- names, and the rows of persons.Tied. Part of other queries.
SELECT visitor, spans
FROM
(
    SELECT
        l.anonymous AS visitor,
        max(l.known = l.anonymous) AS told,
        any(own.root) AS home,
        arraySort(groupArrayIf((toUnixTimestamp64Milli(l.since), if(r.root = 0, l.known, r.root)), l.known != l.anonymous)) AS linked,
        arrayConcat(if(home != 0, [(toInt64(0), home)], []), linked) AS spans
    FROM
    (
        SELECT anonymous, known, min(first) AS since
        FROM links
        WHERE environment = {environment:UInt64} AND anonymous IN ($(persons.Sharing))
        GROUP BY anonymous, known
    ) AS l
    LEFT JOIN ($(persons.Roots)) AS r ON r.visitor = l.known
    LEFT JOIN ($(persons.Roots)) AS own ON own.visitor = l.anonymous
    GROUP BY visitor
)
WHERE NOT told AND length(arrayDistinct(arrayMap(span -> span.2, spans))) > 1 AND visitor NOT IN {linked:Array(UInt64)}
UNION ALL
SELECT visitor, spans
FROM ($(persons.SharedOf))
