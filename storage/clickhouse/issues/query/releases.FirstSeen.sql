-- The time of the first occurrence of releases of an environment. Key: environment, release. Rows read: one per issue
-- of each; returned: one per release with occurrences.
SELECT release, toUnixTimestamp64Milli(min(first_seen)) AS first_ms
FROM issue_releases
WHERE environment = {environment:UInt64} AND release IN {releases:Array(String)}
GROUP BY release
