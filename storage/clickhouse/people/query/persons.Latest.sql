-- The visitors that were first seen last, before the position of the page. Anonymous ids are left out if their known
-- id was also first seen before the position: the known id represents the person, and was first seen when the person
-- was or later. Ids that an alias ties to another person are included, since that person may have only a part of their
-- events. Key: environment of profiles, links and roots. Rows read: one per visitor or more, twice, and one per link,
-- three times; returned: at most limit. A set of all links skips no granule, so the statement does not use the index
-- for it.
SELECT visitor, toUnixTimestamp64Milli(min(first_seen)) AS first
FROM profiles
WHERE environment = {environment:UInt64} AND (visitor NOT IN
    (
        SELECT anonymous
        FROM links
        WHERE environment = {environment:UInt64} AND anonymous IN (SELECT anonymous FROM links WHERE environment = {environment:UInt64} AND anonymous != known)
        GROUP BY anonymous
        HAVING min(known != anonymous AND known IN
        (
            SELECT visitor
            FROM profiles
            WHERE environment = {environment:UInt64} AND ({first_page:Bool} OR first_seen <= fromUnixTimestamp64Milli({after_began:Int64}, 'UTC'))
                AND visitor IN (SELECT known FROM links WHERE environment = {environment:UInt64} AND anonymous != known)
                AND visitor NOT IN (SELECT visitor FROM splits WHERE environment = {environment:UInt64})
        )) = 1
    ) OR visitor IN ($(persons.Tied)))
GROUP BY visitor
HAVING {first_page:Bool} OR first <= {after_began:Int64}
ORDER BY first DESC
LIMIT {limit:UInt32}
SETTINGS use_index_for_in_with_subqueries = 0
