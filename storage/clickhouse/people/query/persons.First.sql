-- When visitors were first seen. Key: environment, visitor. Rows returned: one per visitor.
SELECT visitor, toUnixTimestamp64Milli(min(first_seen)) AS first
FROM profiles
WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
GROUP BY visitor
