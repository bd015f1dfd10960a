-- The known ids that some anonymous ids were identified as. Key: environment and anonymous of links. Rows returned: at most one per link of these.
SELECT DISTINCT known
FROM links
WHERE environment = {environment:UInt64} AND anonymous IN {visitors:Array(UInt64)} AND known != anonymous
