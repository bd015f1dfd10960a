-- The links of some visitors, each with a root of 0, and the roots of these visitors and of whom they were identified as, each with a known id of 0. Key:
-- environment and anonymous of links, environment and visitor of roots. Rows returned: one per visitor and link, and at most one per root.
SELECT anonymous AS visitor, known, toUnixTimestamp64Milli(min(first)) AS since, toUInt64(0) AS root
FROM links
WHERE environment = {environment:UInt64} AND anonymous IN {only:Array(UInt64)}
GROUP BY anonymous, known
UNION ALL
SELECT visitor, toUInt64(0), toInt64(0), argMax(root, edges)
FROM roots
WHERE environment = {environment:UInt64}
    AND visitor IN (SELECT arrayJoin({only:Array(UInt64)}) UNION ALL SELECT known FROM links WHERE environment = {environment:UInt64} AND anonymous IN {only:Array(UInt64)})
GROUP BY visitor
