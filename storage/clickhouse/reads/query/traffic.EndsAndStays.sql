-- Like traffic.Ends, plus a row per slot for the bounces and durations of the sessions that began in it. Key:
-- environment, ts, and the index started. Rows read: the rows of traffic.Ends, and the events of the sessions that
-- began in the slots.
$(traffic.Ends)
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
