-- Like overview.scan, one window at a time, so that a session needs no window in its set.
SELECT now, sumIf(v, a_day) AS visitors, sumIf(v, NOT a_day) AS unique_visitors, sumIf(s, a_day) AS sessions,
    sumIf(p, a_day) AS pageviews, sum(b) AS bounced, sum(l) AS lasted
FROM
(
    SELECT ts >= {middle:DateTime64(3, 'UTC')} AS now, toDate(ts) AS day, grouping(day) = 0 AS a_day, grouping(now) = 0 AS a_window,
        uniqExact(visitor) AS v, uniqExact(session) AS s, countIf(name IN ('page_view', '$pageview')) AS p,
        toInt64(0) AS b, toInt64(0) AS l
    FROM events
    WHERE environment = {environment:UInt64} AND NOT is_bot
        AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')} AND {column:Identifier} = {value:String}
    GROUP BY ROLLUP(now, day)
    HAVING a_window
    UNION ALL
    SELECT true AS now, toDate(0) AS day, false AS a_day, true AS a_window,
        0 AS v, 0 AS s, 0 AS p, sum(bounce_delta) AS b, sum(duration_delta) AS l
    FROM events
    PREWHERE session IN
    (
        SELECT session
        FROM events
        WHERE environment = {environment:UInt64} AND NOT is_bot
            AND ts >= {middle:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')} AND {column:Identifier} = {value:String}
    )
    WHERE environment = {environment:UInt64} AND NOT is_bot
        AND session_started >= {middle:DateTime64(3, 'UTC')} AND session_started < {to:DateTime64(3, 'UTC')}
    UNION ALL
    SELECT false AS now, toDate(0) AS day, false AS a_day, true AS a_window,
        0 AS v, 0 AS s, 0 AS p, sum(bounce_delta) AS b, sum(duration_delta) AS l
    FROM events
    PREWHERE session IN
    (
        SELECT session
        FROM events
        WHERE environment = {environment:UInt64} AND NOT is_bot
            AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {middle:DateTime64(3, 'UTC')} AND {column:Identifier} = {value:String}
    )
    WHERE environment = {environment:UInt64} AND NOT is_bot
        AND session_started >= {from:DateTime64(3, 'UTC')} AND session_started < {middle:DateTime64(3, 'UTC')}
)
GROUP BY now
ORDER BY now
