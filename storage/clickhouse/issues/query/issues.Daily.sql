-- The occurrences and users of one issue per day. Key: environment, issue, ts. Rows read: the occurrences of a month,
-- three columns; returned: one per day with occurrences.
SELECT
    roundDown(toUInt32(toUnixTimestamp(ts)), {buckets:Array(UInt32)}) AS bucket,
    count() AS occurred,
    uniqExactIf(cityHash64(if(distinct_id != '', distinct_id, anonymous_id)), distinct_id != '' OR anonymous_id != '') AS affected
FROM occurrences
WHERE environment = {environment:UInt64} AND issue IN {issues:Array(UInt64)}
    AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
GROUP BY bucket
