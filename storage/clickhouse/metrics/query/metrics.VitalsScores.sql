-- The observations of the web vitals by value of a label, in bins; without parts, all of them together. Key:
-- environment, name, slot. Rows read: the rollups of five metrics in the window; returned: five per part.
SELECT
    if({all:Bool}, '', parted.part) AS value,
    toString(t.name) AS vital,
    toUInt64(sum(t.count)) AS samples,
    min(t.min) AS lowest,
    max(t.max) AS highest,
    sumMap(t.sketch).1 AS bin_keys,
    sumMap(t.sketch).2 AS bin_counts
FROM metric_rollups AS t
INNER JOIN ($(metrics.VitalsParted)) AS parted ON parted.name = t.name AND parted.series = t.series
WHERE environment = {environment:UInt64} AND t.name IN {vitals:Array(String)} AND slot >= {since:DateTime64(3, 'UTC')} AND slot < {until:DateTime64(3, 'UTC')}
    AND ({all:Bool} OR parted.part IN {parts:Array(String)})
GROUP BY value, vital
