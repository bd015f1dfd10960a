-- The latest of the instants at which parts of profiles were first seen, with their visitors. A visitor may have several parts
-- until they are merged. Key: environment of profiles. Rows read: one per visitor or more; returned: at most limit.
SELECT visitor, toUnixTimestamp64Milli(first_seen)
FROM profiles
WHERE environment = {environment:UInt64} AND ({first_page:Bool} OR first_seen <= fromUnixTimestamp64Milli({after_began:Int64}, 'UTC'))
ORDER BY first_seen DESC
LIMIT {limit:UInt32}
