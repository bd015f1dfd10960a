-- A metric per bucket and value of a label, from the five-minute sums of its series.
SELECT toStartOfInterval(t.slot, toIntervalSecond({width:UInt32})) AS bucket, $(value) AS value, parted.part AS part
FROM metric_rollups AS t
INNER JOIN (
    SELECT series, any(label_values[indexOf(label_keys, {label:String})]) AS part FROM metric_series
    WHERE environment = {environment:UInt64} AND name = {name:String}
    GROUP BY series
) AS parted ON parted.series = t.series
WHERE environment = {environment:UInt64} AND name = {name:String}
    AND slot >= {from:DateTime64(3, 'UTC')} AND slot < {to:DateTime64(3, 'UTC')}
GROUP BY bucket, part
ORDER BY part, bucket
