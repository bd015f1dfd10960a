-- Like metrics.Points, divided by a label; without parts, all of them. Key: environment, name, ts.
SELECT
    roundDown(toUInt32(toUnixTimestamp(t.ts)), {buckets:Array(UInt32)}) AS bucket,
    parted.part AS part,
    sum(t.count) AS observations,
    sum(t.sum) AS total,
    min(t.min) AS lowest,
    max(t.max) AS highest,
    $(quantiles) AS quantiles
FROM metric_points AS t
INNER JOIN ($(metrics.Parted)) AS parted ON parted.series = t.series
WHERE environment = {environment:UInt64} AND name = {name:String} AND t.count > 0
    AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
    AND (empty({parts:Array(String)}) OR has({parts:Array(String)}, parted.part))
GROUP BY $(grouping)
