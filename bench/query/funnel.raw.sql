-- The number of persons of a window at each depth of the benchmark's funnel of five steps.
SELECT 0 AS row, countIf(depth >= 1) AS one, countIf(depth >= 2) AS two, countIf(depth >= 3) AS three, countIf(depth >= 4) AS four, countIf(depth >= 5) AS five
FROM
(
    SELECT windowFunnel(86400000)(toUInt64(toUnixTimestamp64Milli(ts)),
        name IN ('page_view', '$pageview') AND path = '/p/0',
        name = 'signup',
        name IN ('page_view', '$pageview') AND path = '/p/1',
        name = 'purchase',
        name IN ('page_view', '$pageview') AND path = '/p/2') AS depth
    FROM events
    WHERE environment = {environment:UInt64} AND NOT is_bot
        AND ts >= {middle:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
        AND (name IN ('signup', 'purchase') OR name IN ('page_view', '$pageview') AND path IN ('/p/0', '/p/1', '/p/2'))
    GROUP BY visitor
)
