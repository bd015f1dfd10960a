-- Like breakdown.Events. The value of an event is the path of the last page view of its session in the bucket (by
-- time, then by id). One row per session that caused an event which passes the filter. Part of other queries. Key:
-- environment, ts.
SELECT bucket, $(value) AS value, who AS visitor, session, viewed, times
FROM
(
    SELECT
        roundDown(toUInt32(toUnixTimestamp(ts)), {buckets:Array(UInt32)}) AS bucket,
        session,
        any(counted) AS who,
        $(mark.Exit) AS marked,
        countIf(name IN ('page_view', '$pageview') AND ($(where))) AS viewed,
        countIf($(where)) AS times
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
        AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')} AND session_deeds < 16
    GROUP BY bucket, session
    HAVING times > 0
)
