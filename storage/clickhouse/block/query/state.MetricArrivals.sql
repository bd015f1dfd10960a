-- state.Arrivals for metric points with deduplication. Key: none; the index received skips the granules from before.
SELECT toStartOfSecond(received_at) AS second, count() AS events
FROM metric_points
WHERE received_at >= {since:DateTime64(3, 'UTC')} AND block != {block:UInt64} AND (id != '' OR once)
GROUP BY second
ORDER BY second
