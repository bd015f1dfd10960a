-- The activity in up to four partial slots, which are identified by their start in milliseconds. A row has a visitor
-- and session with their numbers of events and page views. Key: environment, ts. Rows read: the events of at most one
-- hour; returned: one per slot, visitor and session.
SELECT
    roundDown(toUnixTimestamp64Milli(ts), {ends:Array(Int64)}) AS at,
    if(session_deeds < 16, counted, 0) AS visitor,
    if(session_deeds < 16, session, 0) AS session,
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
