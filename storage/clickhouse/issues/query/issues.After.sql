-- How often some issues occurred in blocks after one. Key: environment, issue. Rows: those of the issues.
SELECT
    environment,
    issue,
    count() AS occurrences
FROM occurrences
WHERE environment IN {environments:Array(UInt64)} AND issue IN {issues:Array(UInt64)} AND block > {block:UInt64}
GROUP BY environment, issue
