-- To whom the visitors belong that are not persons by themselves: spans of (milliseconds since which,
-- person), ascending. An event belongs to the person of the last span that began before it, else to
-- that of the first one. Visitors with more than one span are shared. Links of an id that was identified
-- itself do not count. An id that an alias names belongs to the root of its aliases until the first of its links, and by itself for
-- ever: that span begins at 0. A known id that nobody else was identified with has no spans of links. The spans of {linked} are known. Key: environment of links and roots. Rows read: one
-- per link, twice, and one per alias; returned: at most as many. Part of other queries.
SELECT visitor, spans
FROM
(
    SELECT
        visitor,
        max(known = visitor) AS told,
        maxIf(root, known = 0) AS own,
        arraySort(groupArrayIf((since, root), known != 0 AND known != visitor)) AS linked,
        if(own != 0, [(toInt64(0), own)], []) AS home,
        if(told, home, arrayConcat(home, linked)) AS every,
        if(length(arrayDistinct(arrayMap(span -> span.2, every))) = 1, [(toInt64(0), every[1].2)], every) AS spans
    FROM
    (
        SELECT l.anonymous AS visitor, l.known AS known, toUnixTimestamp64Milli(l.since) AS since, if(r.root = 0, l.known, r.root) AS root
        FROM
        (
            SELECT anonymous, known, min(first) AS since
            FROM links
            WHERE environment = {environment:UInt64} AND anonymous IN (SELECT anonymous FROM links WHERE environment = {environment:UInt64} AND anonymous != known)
            GROUP BY anonymous, known
        ) AS l
        LEFT JOIN ($(persons.Roots)) AS r ON r.visitor = l.known
        UNION ALL
        SELECT visitor, toUInt64(0) AS known, toInt64(0) AS since, root
        FROM ($(persons.Roots))
    )
    GROUP BY visitor
)
WHERE notEmpty(spans) AND NOT (length(spans) = 1 AND spans[1].2 = visitor) AND visitor NOT IN {linked:Array(UInt64)}
UNION ALL
SELECT visitor, spans
FROM ($(persons.Given))
