-- The number of issues of environments that began with a release, and the first and last occurrence of the release. An
-- issue began with the release of its first occurrence. Key: environment, release, then environment, issue. Rows read:
-- one per issue of each release, and these issues; returned: one per release with occurrences.
SELECT release, countIf(first = begun) AS began, toUnixTimestamp64Milli(min(first)), toUnixTimestamp64Milli(max(last))
FROM
(
    SELECT environment, release, issue, min(first_seen) AS first, max(last_seen) AS last
    FROM issue_releases
    WHERE environment IN {environments:Array(UInt64)} AND release IN {releases:Array(String)}
    GROUP BY environment, release, issue
) AS occurred
INNER JOIN
(
    SELECT environment, issue, min(first_seen) AS begun
    FROM issues
    WHERE environment IN {environments:Array(UInt64)} AND issue IN
        (SELECT issue FROM issue_releases WHERE environment IN {environments:Array(UInt64)} AND release IN {releases:Array(String)})
    GROUP BY environment, issue
) AS known USING (environment, issue)
GROUP BY release
