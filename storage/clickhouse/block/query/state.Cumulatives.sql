-- What the cumulative series that were received since an instant had reached. Key: none; the index
-- received leaves the granules since then. The first eight bytes of a state tell its sender. Rows
-- returned: one per series and sender.
SELECT environment, toString(name) AS metric, series, argMax(state, ts) AS reached, max(received_at) AS seen
FROM metric_points
WHERE received_at >= {since:DateTime64(3, 'UTC')} AND block != {block:UInt64} AND state != ''
GROUP BY environment, name, series, substring(state, 1, 8)
