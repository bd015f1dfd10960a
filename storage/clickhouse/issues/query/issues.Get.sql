-- The descriptions and counts of some issues. Key: environment, issue. Rows: one per issue and unmerged part.
SELECT
    transform(issue, {members:Array(UInt64)}, {roots:Array(UInt64)}, issue) AS root,
    anyIf(fingerprint, issue = root) AS fingerprint,
    toUnixTimestamp64Milli(min(first_seen)) AS first_ms,
    toUnixTimestamp64Milli(max(last_seen)) AS last_ms,
    sum(events) AS events,
    uniqCombined64IfMerge(17)(users) AS users,
    argMaxMerge(latest).1 AS name,
    argMaxMerge(latest).2 AS message,
    argMaxMerge(latest).3 AS culprit,
    argMaxMerge(latest).4 AS level,
    argMinIfMerge(release_first) AS first_release,
    argMaxIfMerge(release_last) AS last_release
FROM issues
WHERE environment = {environment:UInt64} AND issue IN {issues:Array(UInt64)}
GROUP BY root
