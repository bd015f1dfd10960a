-- The metrics of an environment. Key: environment. Rows read: one per series; returned: one per
-- metric.
SELECT
    name,
    argMax(series_kind, seen) AS kind,
    argMax(series_unit, seen) AS unit,
    arraySort(groupUniqArrayArray(label_names)) AS labels,
    count() AS series_count,
    max(seen) AS last_seen_at
FROM
(
    SELECT
        name,
        series,
        argMaxMerge(kind) AS series_kind,
        argMaxMerge(unit) AS series_unit,
        any(label_keys) AS label_names,
        max(last_seen) AS seen
    FROM metric_series
    WHERE environment = {environment:UInt64}
    GROUP BY name, series
)
GROUP BY name
ORDER BY name
