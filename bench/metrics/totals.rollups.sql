-- A metric per bucket, over all its series, from the five-minute totals.
SELECT toStartOfInterval(t.slot, toIntervalSecond({width:UInt32})) AS bucket, $(value) AS value
FROM metric_totals AS t
WHERE environment = {environment:UInt64} AND name = {name:String}
    AND slot >= {from:DateTime64(3, 'UTC')} AND slot < {to:DateTime64(3, 'UTC')}
GROUP BY bucket
ORDER BY bucket
