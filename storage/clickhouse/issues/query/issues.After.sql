-- The number of occurrences of some issues in blocks after a block. Key: environment, issue. Rows: the occurrences of
-- the issues.
SELECT
    environment,
    issue,
    count() AS occurrences
FROM occurrences
WHERE environment IN {environments:Array(UInt64)} AND issue IN {issues:Array(UInt64)} AND block > {block:UInt64}
GROUP BY environment, issue
