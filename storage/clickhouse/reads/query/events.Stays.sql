-- The bounces and durations of the sessions that began in a window and have an event in it that passes a filter. Key:
-- the index started, and environment, ts for the filter. Rows read: the events of at most 90 days, twice; returned:
-- one.
SELECT sum(bounce_delta) AS bounced, sum(duration_delta) AS lasted
FROM events
PREWHERE session IN
(
    SELECT session
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
        AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
        AND ($(where))
)
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND session_started >= {from:DateTime64(3, 'UTC')} AND session_started < {to:DateTime64(3, 'UTC')}
