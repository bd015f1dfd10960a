-- The number of events received in each second since an instant, oldest first. Key: none; the index received skips the
-- granules from before. Rows returned: at most one per second.
SELECT toStartOfSecond(received_at) AS second, count() AS events
FROM events
WHERE received_at >= {since:DateTime64(3, 'UTC')} AND block != {block:UInt64}
GROUP BY second
ORDER BY second
