-- The issues of an environment that began or regressed since an instant, with name and message of their latest
-- occurrence, oldest first. Key: environment. Rows read: one per issue and unmerged part; returned: at most limit.
SELECT issue, happened_ms, regressed, name, message
FROM
(
    SELECT
        transform(issue, {members:Array(UInt64)}, {roots:Array(UInt64)}, issue) AS issue,
        toUnixTimestamp64Milli(min(first_seen)) AS begun_ms,
        argMaxMerge(latest).1 AS name,
        argMaxMerge(latest).2 AS message
    FROM issues
    WHERE environment = {environment:UInt64}
    GROUP BY issue
) AS known
LEFT JOIN ($(issues.Regressed)) AS back USING (issue)
ARRAY JOIN [begun_ms, back.regressed_ms] AS happened_ms, [false, true] AS regressed
WHERE happened_ms >= {since_ms:Int64}
ORDER BY happened_ms, issue
LIMIT {limit:UInt32}
