-- Like metrics.Totals, for some series. Key: environment, name, series, slot. Rows read: one per series and five
-- minutes.
SELECT
    roundDown(toUInt32(t.slot), {buckets:Array(UInt32)}) AS bucket,
    '' AS part,
    sum(t.count) AS observations,
    sum(t.sum) AS total,
    min(t.min) AS lowest,
    max(t.max) AS highest,
    $(quantiles) AS quantiles
FROM metric_rollups AS t
WHERE environment = {environment:UInt64} AND name = {name:String} AND series IN ($(metrics.Matching))
    AND slot >= {from:DateTime64(3, 'UTC')} AND slot < {to:DateTime64(3, 'UTC')}
GROUP BY bucket
