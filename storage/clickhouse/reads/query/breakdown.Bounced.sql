-- The sessions that began in a window and bounced, with the bucket in which they began. Part of other queries. Key:
-- the index started.
SELECT
    roundDown(toUInt32(toUnixTimestamp(session_started)), {buckets:Array(UInt32)}) AS bucket,
    session
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND bounce_delta != 0
    AND session_started >= {from:DateTime64(3, 'UTC')} AND session_started < {to:DateTime64(3, 'UTC')}
GROUP BY bucket, session
HAVING sum(bounce_delta) > 0
