-- How many events were received in each second since an instant, the oldest first. Key: none;
-- the index received leaves the granules since then. Rows returned: at most one per second.
SELECT toStartOfSecond(received_at) AS second, count() AS events
FROM events
WHERE received_at >= {since:DateTime64(3, 'UTC')} AND block != {block:UInt64}
GROUP BY second
ORDER BY second
