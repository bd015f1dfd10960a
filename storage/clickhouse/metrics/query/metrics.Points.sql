-- A metric per bucket, from its points. Key: environment, name, ts. Rows read: one per point; returned: one per bucket
-- with points.
SELECT
    roundDown(toUInt32(toUnixTimestamp(t.ts)), {buckets:Array(UInt32)}) AS bucket,
    '' AS part,
    sum(t.count) AS observations,
    sum(t.sum) AS total,
    min(t.min) AS lowest,
    max(t.max) AS highest,
    $(quantiles) AS quantiles
FROM metric_points AS t
WHERE environment = {environment:UInt64} AND name = {name:String} AND count > 0
    AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
    AND ({all:Bool} OR series IN ($(metrics.Matching)))
GROUP BY bucket
