-- The anonymous ids that aliases tie to one person and that were identified as another: with the known ids of such. Key: environment and
-- anonymous of links, environment of roots. Rows read: one per alias, four times, and the links of ids that aliases name. Part of other queries.
SELECT l.anonymous AS visitor, l.known AS behind
FROM
(
    SELECT anonymous, known
    FROM links
    WHERE environment = {environment:UInt64} AND anonymous != known AND anonymous IN (SELECT visitor FROM roots WHERE environment = {environment:UInt64})
) AS l
INNER JOIN ($(persons.Roots)) AS own ON own.visitor = l.anonymous
LEFT JOIN ($(persons.Roots)) AS r ON r.visitor = l.known
WHERE own.root != if(r.root = 0, l.known, r.root)
