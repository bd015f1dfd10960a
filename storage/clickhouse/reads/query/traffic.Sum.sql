-- The sums of whole slots per bucket. A bucket is identified by its start, one of the given ascending ones. Key:
-- environment, slot. Rows read: one or two per slot; returned: one per bucket.
SELECT
    roundDown(toUInt32(slot), {buckets:Array(UInt32)}) AS bucket,
    sum(events) AS occurred,
    sum(pageviews) AS viewed,
    sum(bounces) AS bounced,
    sum(duration_ms) AS lasted
FROM traffic
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')}
GROUP BY bucket
