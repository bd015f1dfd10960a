-- The checks of a monitor per bucket, the failures, and the durations in microseconds. Key: app, monitor, at. Rows
-- read: its checks since an instant; returned: one per bucket with checks.
SELECT
    roundDown(toUInt32(toUnixTimestamp(at)), {buckets:Array(UInt32)}) AS bucket,
    count() AS checked,
    countIf(failures > 0) AS failed,
    avg(total) AS mean,
    quantileExact(0.95)(total) AS high,
    max(total) AS highest
FROM checks
WHERE app = {app:String} AND monitor = {monitor:String} AND at >= {since:DateTime64(3, 'UTC')} AND at < {until:DateTime64(3, 'UTC')}
GROUP BY bucket
