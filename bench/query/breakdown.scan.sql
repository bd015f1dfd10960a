-- Like breakdown.raw, over the events that pass a filter.
SELECT value, sum(v) AS visitors, sum(p) AS pageviews, sum(s) AS sessions, sum(b) AS bounced
FROM
(
    SELECT toDate(ts) AS day, path AS value, uniqExact(visitor) AS v, countIf(name IN ('page_view', '$pageview')) AS p, uniqExact(session) AS s,
        uniqExactIf(session, toDate(session_started) = day AND session IN
        (
            SELECT session
            FROM events
            WHERE environment = {environment:UInt64} AND NOT is_bot AND bounce_delta != 0
                AND session_started >= {middle:DateTime64(3, 'UTC')} AND session_started < {to:DateTime64(3, 'UTC')}
            GROUP BY session
            HAVING sum(bounce_delta) > 0
        )) AS b
    FROM events
    WHERE environment = {environment:UInt64} AND NOT is_bot
        AND ts >= {middle:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')} AND {column:Identifier} = {value:String}
    GROUP BY day, value
)
WHERE value != ''
GROUP BY value
ORDER BY visitors DESC, pageviews DESC, value
LIMIT 25
