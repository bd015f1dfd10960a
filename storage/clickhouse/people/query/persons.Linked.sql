-- The visitors that may belong to others: they were identified as another id, or an alias names them. All others are
-- persons by themselves. Key: environment and anonymous of links, environment and visitor of roots. Rows returned: at
-- most two per visitor and link.
SELECT anonymous
FROM links
WHERE environment = {environment:UInt64} AND anonymous IN {only:Array(UInt64)} AND known != anonymous
UNION ALL
SELECT visitor
FROM roots
WHERE environment = {environment:UInt64} AND visitor IN {only:Array(UInt64)}
