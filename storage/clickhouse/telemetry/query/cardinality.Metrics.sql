-- The number of series of each metric with a point since an instant, the metric with the most first, and the number of
-- all series. Key: environment. Rows read: one per series, and the unmerged ones; returned: at most limit.
SELECT name, uniqCombined(series) AS number, sum(number) OVER () AS total
FROM metric_series
WHERE environment = {environment:UInt64} AND last_seen >= {since:DateTime64(3, 'UTC')}
GROUP BY name
ORDER BY number DESC, name
LIMIT {limit:UInt32}
