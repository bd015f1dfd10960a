-- The anonymous ids that aliases tie to one person and that were identified as another. Key: environment of links and roots. Rows read: one per
-- link, two or three per alias, and the links of ids that aliases name once more. Part of other queries.
SELECT visitor
FROM
(
    SELECT l.anonymous AS visitor, if(r.root = 0, l.known, r.root) AS root
    FROM
    (
        SELECT anonymous, known
        FROM links
        WHERE environment = {environment:UInt64} AND anonymous != known AND anonymous IN (SELECT visitor FROM roots WHERE environment = {environment:UInt64})
    ) AS l
    LEFT JOIN ($(persons.Roots)) AS r ON r.visitor = l.known
    UNION ALL
    SELECT visitor, argMax(root, edges) AS root
    FROM roots
    WHERE environment = {environment:UInt64}
        AND visitor IN (SELECT anonymous FROM links WHERE environment = {environment:UInt64} AND anonymous != known AND anonymous IN (SELECT visitor FROM roots WHERE environment = {environment:UInt64}))
    GROUP BY visitor
)
GROUP BY visitor
HAVING min(root) != max(root)
