-- A metric per bucket, over the series with one value of a label, from their five-minute sums.
SELECT toStartOfInterval(t.slot, toIntervalSecond({width:UInt32})) AS bucket, $(value) AS value
FROM metric_rollups AS t
WHERE environment = {environment:UInt64} AND name = {name:String}
    AND series IN (
        SELECT series FROM metric_series
        WHERE environment = {environment:UInt64} AND name = {name:String} AND label_values[indexOf(label_keys, {label:String})] = {wanted:String}
    )
    AND slot >= {from:DateTime64(3, 'UTC')} AND slot < {to:DateTime64(3, 'UTC')}
GROUP BY bucket
ORDER BY bucket
