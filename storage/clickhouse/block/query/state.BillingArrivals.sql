-- state.Arrivals for billing items. Key: none; the index received skips the granules from before.
SELECT toStartOfSecond(received_at) AS second, count() AS events
FROM billing
WHERE received_at >= {since:DateTime64(3, 'UTC')} AND block != {block:UInt64}
GROUP BY second
ORDER BY second
