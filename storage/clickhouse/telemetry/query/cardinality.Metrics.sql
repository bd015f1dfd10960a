-- How many series of each metric have a point since an instant, the metric with most first, and how many all have. Key: environment.
-- Rows read: one per series, and those that are not merged yet; returned: at most limit.
SELECT name, uniqCombined(series) AS number, sum(number) OVER () AS total
FROM metric_series
WHERE environment = {environment:UInt64} AND last_seen >= {since:DateTime64(3, 'UTC')}
GROUP BY name
ORDER BY number DESC, name
LIMIT {limit:UInt32}
