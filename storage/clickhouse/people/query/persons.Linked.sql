-- Those among some visitors that may belong to others: that were identified as somebody else or are named by an alias. All others are persons by
-- themselves. Key: environment and anonymous of links, environment and visitor of roots. Rows returned: at most two per visitor and link.
SELECT anonymous
FROM links
WHERE environment = {environment:UInt64} AND anonymous IN {only:Array(UInt64)} AND known != anonymous
UNION ALL
SELECT visitor
FROM roots
WHERE environment = {environment:UInt64} AND visitor IN {only:Array(UInt64)}
