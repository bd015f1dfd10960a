-- The errors of an environment in spans of one width since an instant. The empty level counts all levels. Key:
-- environment, ts. Rows read: the errors since then; returned: one per span with errors.
SELECT toInt64(intDiv(toUnixTimestamp(ts) - toUnixTimestamp({since:DateTime64(3, 'UTC')}), {width:UInt32})) AS span, count() AS found
FROM occurrences
WHERE environment = {environment:UInt64} AND received_at > {since:DateTime64(3, 'UTC')} - INTERVAL 5 MINUTE
    AND ts >= {since:DateTime64(3, 'UTC')} AND ts < {until:DateTime64(3, 'UTC')} AND ({level:String} = '' OR level = {level:String})
GROUP BY span
