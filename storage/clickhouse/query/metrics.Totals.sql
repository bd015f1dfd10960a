-- A metric per bucket, of the rollups over all its series. Key: environment, name, slot. Rows
-- read: one per five minutes; returned: one per bucket that has any.
SELECT
    roundDown(toUInt32(t.slot), {buckets:Array(UInt32)}) AS bucket,
    '' AS part,
    $(numbers)
FROM metric_totals AS t
$(spread)
WHERE environment = {environment:UInt64} AND name = {name:String}
    AND slot >= {from:DateTime64(3, 'UTC')} AND slot < {to:DateTime64(3, 'UTC')}
GROUP BY bucket$(bin)
