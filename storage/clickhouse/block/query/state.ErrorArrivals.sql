-- state.Arrivals for occurrences. Key: none; the index received skips the granules from before.
SELECT toStartOfSecond(received_at) AS second, count() AS events
FROM occurrences
WHERE received_at >= {since:DateTime64(3, 'UTC')} AND block != {block:UInt64}
GROUP BY second
ORDER BY second
