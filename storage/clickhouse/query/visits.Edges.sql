-- Who was active in the partial slots at the two ends of a window. Key: environment, ts.
-- Rows read: the events of at most half an hour; returned: one per visitor, session and
-- second-based bucket.
SELECT DISTINCT
    roundDown(toUInt32(toUnixTimestamp(ts)), {buckets:Array(UInt32)}) AS bucket,
    cityHash64(if(distinct_id != '', distinct_id, anonymous_id)) AS visitor,
    cityHash64(if(distinct_id != '', distinct_id, anonymous_id), session_id) AS session
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND $(window.Edges)
