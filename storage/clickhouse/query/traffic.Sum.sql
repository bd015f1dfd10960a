-- The sums of a window per bucket; a bucket is named by its beginning, one of the ascending
-- ones given. settled counts the events of whole slots alone. Key: environment, slot; the edges read events by environment, ts and
-- by the index started. Rows read: the slots of the window; returned: one per bucket.
SELECT
    roundDown(at, {buckets:Array(UInt32)}) AS bucket,
    sum(occurred) AS occurred,
    sum(settled) AS settled,
    sum(viewed) AS viewed,
    sum(bounced) AS bounced,
    sum(lasted) AS lasted
FROM
(
    SELECT toUInt32(slot) AS at, events AS occurred, events AS settled, pageviews AS viewed, bounces AS bounced, duration_ms AS lasted
    FROM traffic
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
        AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')}
    UNION ALL
    SELECT toUInt32(toUnixTimestamp(ts)) AS at, toInt64(1) AS occurred, toInt64(0) AS settled,
        toInt64(name IN ('page_view', '$pageview')) AS viewed, toInt64(0) AS bounced, toInt64(0) AS lasted
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND $(window.Edges)
    UNION ALL
    SELECT toUInt32(toUnixTimestamp(session_started)) AS at, toInt64(0) AS occurred, toInt64(0) AS settled, toInt64(0) AS viewed,
        toInt64(bounce_delta) AS bounced, duration_delta AS lasted
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND $(window.Began)
)
GROUP BY bucket
