-- Which of some visitors were first seen after an instant. Key: environment, visitor. Rows returned: at most one per
-- visitor.
SELECT visitor
FROM profiles
WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
GROUP BY visitor
HAVING min(first_seen) > fromUnixTimestamp64Milli({floor:Int64}, 'UTC')
