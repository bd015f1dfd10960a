-- The events of a window that pass a filter: rows of (bucket, value, visitor, session, viewed, times). The value is
-- empty if the event has none. Part of other queries. Key: environment, ts.
SELECT
    roundDown(toUInt32(toUnixTimestamp(ts)), {buckets:Array(UInt32)}) AS bucket,
    $(value) AS value,
    counted AS visitor,
    session,
    name IN ('page_view', '$pageview') AS viewed,
    1 AS times
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')} AND session_deeds < 16 AND ($(where))
