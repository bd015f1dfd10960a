-- As breakdown.Events for the events of a bucket whose session began in a window. Part of
-- other queries. Key: the index started.
SELECT
    roundDown(toUInt32(toUnixTimestamp(ts)), {buckets:Array(UInt32)}) AS bucket,
    $(value) AS value,
    session
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND ts >= {bucket_from:DateTime64(3, 'UTC')} AND ts < {bucket_to:DateTime64(3, 'UTC')}
    AND session_started >= {from:DateTime64(3, 'UTC')} AND session_started < {to:DateTime64(3, 'UTC')}
