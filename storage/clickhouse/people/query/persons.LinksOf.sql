-- persons.Links of some visitors. Key: environment and anonymous of links, environment and visitor of roots. Rows read: those of the
-- granules of the visitors. Part of other queries.
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
            WHERE environment = {environment:UInt64} AND anonymous IN {only:Array(UInt64)}
            GROUP BY anonymous, known
        ) AS l
        LEFT JOIN
        (
            SELECT visitor, argMax(root, edges) AS root
            FROM roots
            WHERE environment = {environment:UInt64}
                AND visitor IN (SELECT known FROM links WHERE environment = {environment:UInt64} AND anonymous IN {only:Array(UInt64)})
            GROUP BY visitor
        ) AS r ON r.visitor = l.known
        UNION ALL
        SELECT visitor, toUInt64(0) AS known, toInt64(0) AS since, argMax(root, edges) AS root
        FROM roots
        WHERE environment = {environment:UInt64} AND visitor IN {only:Array(UInt64)}
        GROUP BY visitor
    )
    GROUP BY visitor
)
WHERE notEmpty(spans) AND NOT (length(spans) = 1 AND spans[1].2 = visitor)
