-- Like series.scan, but reads the filter's column before all others.
SELECT toDate(ts) AS day, uniqExact(visitor) AS visitors
FROM events
PREWHERE {column:Identifier} = {value:String}
WHERE environment = {environment:UInt64} AND NOT is_bot
    AND ts >= {middle:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
GROUP BY day
ORDER BY day
