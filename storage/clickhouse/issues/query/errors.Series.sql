-- The occurrences and users of a window per bucket. Key: environment, ts. Rows read: one per occurrence, two narrow
-- columns; returned: one per bucket with occurrences.
SELECT
    roundDown(toUInt32(toUnixTimestamp(ts)), {buckets:Array(UInt32)}) AS bucket,
    count() AS occurrences,
    uniqExactIf(user, user != 0) AS users
FROM issue_users
WHERE environment = {environment:UInt64} AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
GROUP BY bucket
