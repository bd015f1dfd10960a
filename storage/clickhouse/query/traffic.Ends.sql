-- What happened in up to four partial slots, named by their beginnings in milliseconds:
-- rows for who was active in one, in which session, with how many events and page views,
-- and a row for the bounces and durations of the sessions that began in one. Key:
-- environment, ts, and the index started. Rows read: the events of an hour at most, and
-- those of the sessions that began in it; returned: one per slot, visitor and session, and
-- one per slot.
SELECT
    roundDown(toUnixTimestamp64Milli(ts), {ends:Array(Int64)}) AS at,
    visitor,
    session,
    toInt64(count()) AS occurred,
    toInt64(countIf(name IN ('page_view', '$pageview'))) AS viewed,
    toInt64(0) AS bounced,
    toInt64(0) AS lasted
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND ((ts >= {from_0:DateTime64(3, 'UTC')} AND ts < {to_0:DateTime64(3, 'UTC')})
        OR (ts >= {from_1:DateTime64(3, 'UTC')} AND ts < {to_1:DateTime64(3, 'UTC')})
        OR (ts >= {from_2:DateTime64(3, 'UTC')} AND ts < {to_2:DateTime64(3, 'UTC')})
        OR (ts >= {from_3:DateTime64(3, 'UTC')} AND ts < {to_3:DateTime64(3, 'UTC')}))
GROUP BY at, visitor, session
UNION ALL
SELECT
    roundDown(toUnixTimestamp64Milli(session_started), {ends:Array(Int64)}) AS at,
    toUInt64(0) AS visitor,
    toUInt64(0) AS session,
    toInt64(0) AS occurred,
    toInt64(0) AS viewed,
    toInt64(sum(bounce_delta)) AS bounced,
    toInt64(sum(duration_delta)) AS lasted
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND ((session_started >= {from_0:DateTime64(3, 'UTC')} AND session_started < {to_0:DateTime64(3, 'UTC')})
        OR (session_started >= {from_1:DateTime64(3, 'UTC')} AND session_started < {to_1:DateTime64(3, 'UTC')})
        OR (session_started >= {from_2:DateTime64(3, 'UTC')} AND session_started < {to_2:DateTime64(3, 'UTC')})
        OR (session_started >= {from_3:DateTime64(3, 'UTC')} AND session_started < {to_3:DateTime64(3, 'UTC')}))
GROUP BY at
