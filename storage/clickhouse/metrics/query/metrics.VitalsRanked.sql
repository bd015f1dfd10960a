-- The values of a label of the web vitals with the most observations. Key: environment, name, slot. Rows read: the
-- rollups of five metrics in the window; returned: at most limit.
SELECT part, toUInt64(sum(t.count)) AS samples
FROM metric_rollups AS t
INNER JOIN ($(metrics.VitalsParted)) AS parted ON parted.name = t.name AND parted.series = t.series
WHERE environment = {environment:UInt64} AND t.name IN {vitals:Array(String)} AND slot >= {since:DateTime64(3, 'UTC')} AND slot < {until:DateTime64(3, 'UTC')}
GROUP BY part
HAVING {first_page:Bool} OR samples < {after_count:UInt64} OR (samples = {after_count:UInt64} AND part > {after_part:String})
ORDER BY samples DESC, part
LIMIT {limit:UInt32}
