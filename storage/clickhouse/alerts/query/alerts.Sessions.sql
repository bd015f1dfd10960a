-- The number of sessions of an environment with an event since an instant, without bots. Exact up to some thousands,
-- and within 1 % beyond, in bounded memory. Key: environment, ts. Rows read: the events of the window.
SELECT uniqCombined64(17)(session) AS sessions
FROM events
WHERE environment = {environment:UInt64} AND NOT is_bot AND session_deeds < 16 AND ts > {since:DateTime64(3, 'UTC')} AND ts <= {until:DateTime64(3, 'UTC')}
