-- The sessions of an environment in spans of one width since an instant, without bots. Exact up to some thousands, and
-- within 1 % beyond. Key: environment, ts. Rows read: the events since then; returned: one per span with sessions.
SELECT
    toInt64(intDiv(toUnixTimestamp(ts) - toUnixTimestamp({since:DateTime64(3, 'UTC')}), {width:UInt32})) AS span,
    uniqCombined64(12)(session) AS found
FROM events
WHERE environment = {environment:UInt64} AND NOT is_bot AND session_deeds < 16 AND ts >= {since:DateTime64(3, 'UTC')} AND ts < {until:DateTime64(3, 'UTC')}
GROUP BY span
