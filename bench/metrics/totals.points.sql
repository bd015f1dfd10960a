-- A metric per bucket, over all its series, from the points.
SELECT toStartOfInterval(t.ts, toIntervalSecond({width:UInt32})) AS bucket, $(value) AS value
FROM metric_points AS t
WHERE environment = {environment:UInt64} AND name = {name:String} AND t.count > 0
    AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
GROUP BY bucket
ORDER BY bucket
