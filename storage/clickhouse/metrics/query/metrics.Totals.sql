-- A metric per bucket, from the rollups over all its series, per hour or per five minutes. Key: environment, name,
-- slot. Rows read: one per slot; returned: one per bucket with data.
SELECT
    roundDown(toUInt32(t.slot), {buckets:Array(UInt32)}) AS bucket,
    '' AS part,
    sum(t.count) AS observations,
    sum(t.sum) AS total,
    min(t.min) AS lowest,
    max(t.max) AS highest,
    $(quantiles) AS quantiles
FROM $(totals) AS t
WHERE environment = {environment:UInt64} AND name = {name:String}
    AND slot >= {from:DateTime64(3, 'UTC')} AND slot < {to:DateTime64(3, 'UTC')}
GROUP BY bucket
