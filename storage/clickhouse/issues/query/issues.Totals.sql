-- The total number of occurrences of some issues, with name and message of their latest occurrence. Key: environment,
-- issue. Rows: one per issue.
SELECT
    environment,
    issue,
    sum(events) AS events,
    argMaxMerge(latest).1 AS name,
    argMaxMerge(latest).2 AS message
FROM issues
WHERE environment IN {environments:Array(UInt64)} AND issue IN {issues:Array(UInt64)}
GROUP BY environment, issue
