-- Like conversions.Count without filters, from the aggregate. Key: environment, name, path, slot of event_counts; the
-- edges read events by environment, ts. Rows read: one per slot and name of a goal, and, if a goal is a path, one per
-- slot and path; returned: one per bucket.
SELECT roundDown(at, {buckets:Array(UInt32)}) AS bucket, sum(occurred) AS conversions
FROM
(
    SELECT toUInt32(slot) AS at, events AS occurred
    FROM event_counts
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND $(goals.Match)
        AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')}
    UNION ALL
    SELECT toUInt32(toUnixTimestamp(ts)) AS at, toUInt64(1) AS occurred
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND $(goals.Match)
        AND $(window.Edges)
)
GROUP BY bucket
