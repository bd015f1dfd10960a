-- The events from a start time to the end of its local day, of all visitors that were active within the first hour,
-- sorted by visitor, time and id. Each row has the value and the time of the event, whether it is a page view, when
-- its session began, and whether that session bounced. Key: environment, ts, and the index started. Rows read: the
-- events from the start time on, three times; returned: some three times the events of the hour.
SELECT
    counted AS visitor,
    session,
    $(value) AS value,
    toUnixTimestamp64Milli(ts) AS at,
    name IN ('page_view', '$pageview') AS viewed,
    toUnixTimestamp64Milli(session_started) AS began,
    session IN
    (
        SELECT session
        FROM events
        WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND bounce_delta != 0
            AND session_started >= {from:DateTime64(3, 'UTC')} AND session_started < {to:DateTime64(3, 'UTC')}
        GROUP BY session
        HAVING sum(bounce_delta) > 0
    ) AS bounced
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
    AND session_deeds < 16 AND counted IN
    (
        SELECT counted
        FROM events
        WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
            AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {hour_to:DateTime64(3, 'UTC')}
    )
ORDER BY visitor, ts, id
