-- Those of the visitors that a question may be about who were first seen last, without those who are persons by themselves and came after the place
-- of the page. Who several persons share may have been seen before its person was, and who has no events was never seen, so both come first. Key: that
-- of the candidates, environment of profiles, links and roots. Rows read: those of the candidates, one per visitor or more, and one per link; returned: at
-- most limit. Sets as large as all candidates skip no granule, so none is looked for.
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
