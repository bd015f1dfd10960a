-- The last states of the cumulative series that received a point since an instant. Key: none; the index received skips
-- the granules from before. The first eight bytes of a state identify its sender. Rows returned: one per series and
-- sender.
SELECT environment, toString(name) AS metric, series, argMax(state, ts) AS reached, max(received_at) AS seen
FROM metric_points
WHERE received_at >= {since:DateTime64(3, 'UTC')} AND block != {block:UInt64} AND state != ''
GROUP BY environment, name, series, substring(state, 1, 8)
