-- The anonymous ids that may belong to several persons: that were identified as two known ones, or as another one than whom an alias ties them
-- to. Key: environment of links and roots. Rows read: one per link, and those of persons.Tied. Part of other queries.
SELECT anonymous AS visitor
FROM links
WHERE environment = {environment:UInt64} AND anonymous != known
GROUP BY anonymous
HAVING min(known) != max(known)
UNION DISTINCT
SELECT visitor FROM ($(persons.Tied))
