-- The visitors of a window by day, over the events that pass a filter, hand-written.
SELECT toDate(ts) AS day, uniqExact(visitor) AS visitors
FROM events
WHERE environment = {environment:UInt64} AND NOT is_bot
    AND ts >= {middle:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')} AND {column:Identifier} = {value:String}
GROUP BY day
ORDER BY day
