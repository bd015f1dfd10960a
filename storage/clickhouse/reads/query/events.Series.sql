-- One measure of the events of a window that pass a filter, per bucket. Key: environment, ts. Rows read: the events of
-- at most 90 days, only the columns of the filter and of the measure; returned: one per bucket.
SELECT roundDown(toUInt32(toUnixTimestamp(ts)), {buckets:Array(UInt32)}) AS bucket, $(measure) AS measured
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
    AND ($(where))
GROUP BY bucket
