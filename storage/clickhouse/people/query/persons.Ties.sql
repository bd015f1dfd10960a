-- The identity graph around visitors. Links have a root of 0. Roots, of the visitors and of the ids that they were
-- identified as, have a known id of 0. Removals of the visitors from persons have the time of the decision. It returns
-- the same for the later numbers of the visitors. Key: environment and anonymous of links, environment and visitor of
-- roots and splits. Rows returned: one per visitor, link and decision, and at most one per root.
SELECT anonymous AS visitor, known, toUnixTimestamp64Milli(min(first)) AS since, toUInt64(0) AS root, toInt64(0) AS at
FROM links
WHERE environment = {environment:UInt64} AND anonymous IN (SELECT arrayJoin({only:Array(UInt64)}) UNION ALL SELECT late FROM splits WHERE environment = {environment:UInt64} AND visitor IN {only:Array(UInt64)})
GROUP BY anonymous, known
UNION ALL
SELECT visitor, toUInt64(0), toInt64(0), argMax(root, edges), toInt64(0)
FROM roots
WHERE environment = {environment:UInt64}
    AND visitor IN
    (
        SELECT arrayJoin({only:Array(UInt64)})
        UNION ALL
        SELECT late FROM splits WHERE environment = {environment:UInt64} AND visitor IN {only:Array(UInt64)}
        UNION ALL
        SELECT known FROM links WHERE environment = {environment:UInt64}
            AND anonymous IN (SELECT arrayJoin({only:Array(UInt64)}) UNION ALL SELECT late FROM splits WHERE environment = {environment:UInt64} AND visitor IN {only:Array(UInt64)})
    )
GROUP BY visitor
UNION ALL
SELECT visitor, any(late), any(since), toUInt64(0), at
FROM splits
WHERE environment = {environment:UInt64} AND visitor IN {only:Array(UInt64)}
GROUP BY visitor, at
