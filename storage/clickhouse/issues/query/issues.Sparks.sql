-- The occurrences of some issues per day. Key: environment, ts. Rows read: one per occurrence of a week, three narrow
-- columns; returned: one per issue and day with occurrences.
SELECT
    transform(issue, {members:Array(UInt64)}, {roots:Array(UInt64)}, issue) AS root,
    roundDown(toUInt32(toUnixTimestamp(ts)), {buckets:Array(UInt32)}) AS bucket,
    count() AS occurred
FROM issue_users
WHERE environment = {environment:UInt64} AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
    AND issue IN {issues:Array(UInt64)}
GROUP BY root, bucket
