-- The rows of visitors in descending order of when they were first seen, from the position of the page on. Key:
-- environment of profiles. Rows read: the times of the visitors of the environment; returned: at most limit.
SELECT visitor, toUnixTimestamp64Milli(first_seen)
FROM profiles
WHERE environment = {environment:UInt64} AND ({first_page:Bool} OR first_seen <= fromUnixTimestamp64Milli({after_began:Int64}, 'UTC'))
ORDER BY first_seen DESC
LIMIT {limit:UInt32}
