-- The events of a window that complete a goal, per bucket. Key: environment, ts. Rows
-- read: the events of the window, two columns; returned: one per bucket.
SELECT roundDown(toUInt32(toUnixTimestamp(ts)), {buckets:Array(UInt32)}) AS bucket, count() AS conversions
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
    AND $(goals.Match) AND ($(where))
GROUP BY bucket
