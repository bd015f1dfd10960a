-- Those among some visitors that may belong to others, or to whom others may belong. All others are persons by themselves and alone.
-- Key: environment, anonymous and visitor; the indexes of known and root skip granules. Rows returned: at most four per visitor and link.
SELECT anonymous
FROM links
WHERE environment = {environment:UInt64} AND anonymous IN {visitors:Array(UInt64)} AND known != anonymous
UNION ALL
SELECT known
FROM links
WHERE environment = {environment:UInt64} AND known IN {visitors:Array(UInt64)} AND known != anonymous
UNION ALL
SELECT visitor
FROM roots
WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
UNION ALL
SELECT root
FROM roots
WHERE environment = {environment:UInt64} AND root IN {visitors:Array(UInt64)}
