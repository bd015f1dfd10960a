-- The occurrences of some issues per day. Key: environment, slot. Rows read: one per slot,
-- issue and user of a week; returned: one per issue and day that has any.
SELECT
    transform(issue, {members:Array(UInt64)}, {roots:Array(UInt64)}, issue) AS root,
    roundDown(toUInt32(slot), {buckets:Array(UInt32)}) AS bucket,
    sum(events) AS occurred
FROM issue_users
WHERE environment = {environment:UInt64} AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')}
    AND issue IN {issues:Array(UInt64)}
GROUP BY root, bucket
