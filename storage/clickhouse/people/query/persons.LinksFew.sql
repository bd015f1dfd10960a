-- persons.Links for the case that the visitors of several persons are given as {linked}, with their spans. The links
-- of any other visitor agree, so one of them suffices. Key: environment of links and roots. Rows read: one per link,
-- twice, and three per alias; returned: at most as many. Part of other queries.
SELECT visitor, [(toInt64(0), person)] AS spans
FROM
(
    SELECT l.visitor AS visitor, if(r.root = 0, l.other, r.root) AS person
    FROM
    (
        SELECT anonymous AS visitor, any(known) AS other
        FROM links
        WHERE environment = {environment:UInt64}
            AND anonymous IN (SELECT anonymous FROM links WHERE environment = {environment:UInt64} AND anonymous != known)
            AND anonymous NOT IN (SELECT visitor FROM roots WHERE environment = {environment:UInt64})
        GROUP BY anonymous
        HAVING NOT max(known = anonymous)
    ) AS l
    LEFT JOIN ($(persons.Roots)) AS r ON r.visitor = l.other
    UNION ALL
    SELECT visitor, root AS person
    FROM ($(persons.Roots))
)
WHERE person != visitor AND visitor NOT IN {linked:Array(UInt64)}
UNION ALL
SELECT visitor, spans
FROM ($(persons.Given))
