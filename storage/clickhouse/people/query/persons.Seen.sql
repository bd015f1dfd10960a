-- How often and when visitors were seen. Key: environment, visitor. Rows returned: one per visitor.
SELECT visitor, toUnixTimestamp64Milli(min(first_seen)), toUnixTimestamp64Milli(max(last_seen)), sum(events), sum(pageviews)
FROM profiles
WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
GROUP BY visitor
