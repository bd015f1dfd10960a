-- As conversions.Count for goals on events alone, from the aggregate. Key: environment,
-- slot; the edges read events by environment, ts. Rows read: one per slot, name and
-- visitor; returned: one per bucket.
SELECT roundDown(at, {buckets:Array(UInt32)}) AS bucket, sum(occurred) AS conversions
FROM
(
    SELECT toUInt32(slot) AS at, events AS occurred
    FROM names
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND name IN {goal_events:Array(String)}
        AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')}
    UNION ALL
    SELECT toUInt32(toUnixTimestamp(ts)) AS at, toUInt64(1) AS occurred
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND name IN {goal_events:Array(String)}
        AND $(window.Edges)
)
GROUP BY bucket
