-- The candidates that were first seen last. It omits persons by themselves that were first seen after the position of
-- the page. A shared visitor may have been seen before its person was, and a visitor without events was never seen, so
-- both come first. Key: the key of the candidates; environment of profiles, links and roots. Rows read: the rows of
-- the candidates, one per visitor or more, and one per link; returned: at most limit. A set of all candidates skips no
-- granule, so the statement does not use the index for it.
SELECT visitor, if(visitor IN ($(persons.Sharing)), {never:Int64}, min(seen)) AS first
FROM
(
    SELECT visitor, toUnixTimestamp64Milli(first_seen) AS seen
    FROM profiles
    WHERE environment = {environment:UInt64} AND visitor IN ($(candidates.Once))
    UNION ALL
    SELECT visitor, {never:Int64} AS seen
    FROM ($(candidates.Once))
)
GROUP BY visitor
HAVING {first_page:Bool} OR first <= {after_began:Int64} OR first = {never:Int64} OR visitor IN
(
    SELECT arrayJoin([anonymous, known]) FROM links WHERE environment = {environment:UInt64} AND anonymous != known
    UNION ALL
    SELECT arrayJoin([visitor, root]) FROM roots WHERE environment = {environment:UInt64}
)
ORDER BY first DESC, visitor DESC
LIMIT {limit:UInt32}
SETTINGS use_index_for_in_with_subqueries = 0
