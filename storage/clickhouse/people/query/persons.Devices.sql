-- The visitors that persons.Latest leaves out: anonymous ids that belong to known ids which were also first seen
-- before the position of the page, unless an alias names them. Key: environment and anonymous of links, environment
-- and visitor of profiles and roots. Rows returned: at most one per visitor.
SELECT anonymous
FROM links
WHERE environment = {environment:UInt64} AND anonymous IN {visitors:Array(UInt64)}
    AND anonymous NOT IN (SELECT visitor FROM roots WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)})
GROUP BY anonymous
HAVING min(known != anonymous AND known IN
(
    SELECT visitor
    FROM profiles
    WHERE environment = {environment:UInt64} AND ({first_page:Bool} OR first_seen <= fromUnixTimestamp64Milli({after_began:Int64}, 'UTC'))
        AND visitor IN (SELECT known FROM links WHERE environment = {environment:UInt64} AND anonymous IN {visitors:Array(UInt64)} AND known != anonymous)
        AND visitor NOT IN (SELECT visitor FROM splits WHERE environment = {environment:UInt64})
)) = 1
