-- How many events changed whether a session that began on a local day bounced (kind 0), and
-- the changes of the blocks that were not read yet, per session (kind 1). Key: the index
-- started, and for the changes the index received. Rows read: the events of sessions that
-- began on the day; returned: one, and one per new block and session.
SELECT toUInt8(0) AS kind, toUInt64(0) AS number, count() AS times, toInt64(0) AS latest, toInt64(0) AS began,
    toUInt64(0) AS who, toInt64(0) AS change
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND bounce_delta != 0
    AND session_started >= {day_from:DateTime64(3, 'UTC')} AND session_started < {day_to:DateTime64(3, 'UTC')}
UNION ALL
SELECT toUInt8(1) AS kind, block AS number, count() AS times, toUnixTimestamp64Milli(max(received_at)) AS latest,
    toUnixTimestamp64Milli(max(session_started)) AS began, session AS who, toInt64(sum(bounce_delta)) AS change
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND bounce_delta != 0
    AND session_started >= {day_from:DateTime64(3, 'UTC')} AND session_started < {day_to:DateTime64(3, 'UTC')}
    AND received_at >= {since:DateTime64(3, 'UTC')} AND NOT has({blocks:Array(UInt64)}, block)
GROUP BY number, who
