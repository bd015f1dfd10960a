-- The sums and distinct counts of the events of a window that pass a filter, per bucket; a row with total = 1 has the
-- values over all buckets. Key: environment, ts. Rows read: the events of at most 90 days; returned: one per bucket
-- and one.
SELECT
    roundDown(toUInt32(toUnixTimestamp(ts)), {buckets:Array(UInt32)}) AS bucket,
    toUInt8(grouping(bucket) = 0) AS single,
    count() AS occurred,
    countIf(name IN ('page_view', '$pageview')) AS viewed,
    uniqExactIf(counted, session_deeds < 16) AS visitors,
    uniqExactIf(session, session_deeds < 16) AS sessions
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
    AND ($(where))
GROUP BY ROLLUP(bucket)
