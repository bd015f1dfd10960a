-- As breakdown.Events, where the value of an event is the path of the last page view of
-- its session in the bucket (by time, then by id). Part of other queries. Key:
-- environment, ts.
SELECT bucket, value, visitor, session, viewed
FROM
(
    SELECT
        roundDown(toUInt32(toUnixTimestamp(ts)), {buckets:Array(UInt32)}) AS bucket,
        visitor,
        session,
        name IN ('page_view', '$pageview') AS viewed
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
        AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
        AND ($(where))
) AS caused
LEFT JOIN
(
    SELECT
        roundDown(toUInt32(toUnixTimestamp(ts)), {buckets:Array(UInt32)}) AS bucket,
        session,
        argMax($(value), (ts, id)) AS value
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
        AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
        AND name IN ('page_view', '$pageview')
    GROUP BY bucket, session
) AS marked USING (bucket, session)
