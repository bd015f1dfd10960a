-- The releases in which an issue occurred, the latest first. Key: environment. Rows read: one per issue and release of
-- the environment; returned: at most limit.
SELECT
    release,
    sum(events) AS occurred,
    toUnixTimestamp64Milli(min(first_seen)) AS first_ms,
    toUnixTimestamp64Milli(max(last_seen)) AS last_ms
FROM issue_releases
WHERE environment = {environment:UInt64} AND issue IN {issues:Array(UInt64)}
GROUP BY release
ORDER BY last_ms DESC, release
LIMIT {limit:UInt32}
