-- The persons of the visitors that are not persons by themselves, as spans of (milliseconds since which, person),
-- ascending. An event belongs to the person of the last span that began before it, else to the person of the first
-- span. Visitors with more than one span are shared. Links of an id that was itself identified do not count. An id in
-- an alias belongs to the root of its aliases until its first link; persons.Home returns this root at any time. This
-- span begins at 0. A known id that no other id was identified with has no spans of links. The spans of {linked} are
-- given. Key: environment of links and roots. Rows read: one per link, twice, and one per alias; returned: at most as
-- many. Part of other queries.
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
