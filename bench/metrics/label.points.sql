-- A metric per bucket, over the series with one value of a label, from their points.
SELECT toStartOfInterval(t.ts, toIntervalSecond({width:UInt32})) AS bucket, $(value) AS value
FROM metric_points AS t
WHERE environment = {environment:UInt64} AND name = {name:String} AND t.count > 0
    AND series IN (
        SELECT series FROM metric_series
        WHERE environment = {environment:UInt64} AND name = {name:String} AND label_values[indexOf(label_keys, {label:String})] = {wanted:String}
    )
    AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
GROUP BY bucket
ORDER BY bucket
