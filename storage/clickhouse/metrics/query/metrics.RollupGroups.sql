-- Like metrics.Rollups, divided by a label; without parts, all of them. Key: environment, name, series, slot.
SELECT
    roundDown(toUInt32(t.slot), {buckets:Array(UInt32)}) AS bucket,
    parted.part AS part,
    sum(t.count) AS observations,
    sum(t.sum) AS total,
    min(t.min) AS lowest,
    max(t.max) AS highest,
    $(quantiles) AS quantiles
FROM metric_rollups AS t
INNER JOIN ($(metrics.Parted)) AS parted ON parted.series = t.series
WHERE environment = {environment:UInt64} AND name = {name:String}
    AND slot >= {from:DateTime64(3, 'UTC')} AND slot < {to:DateTime64(3, 'UTC')}
    AND (empty({parts:Array(String)}) OR has({parts:Array(String)}, parted.part))
GROUP BY $(grouping)
