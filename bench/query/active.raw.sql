-- The rolling uniques of the days of a window, from the raw table.
SELECT day, uniqExactIf(visitor, age = 0) AS dau, uniqExactIf(visitor, age < 7) AS wau, uniqExact(visitor) AS mau
FROM
(
    SELECT visitor, arrayJoin(range(30)) AS age, active + age AS day
    FROM
    (
        SELECT DISTINCT visitor, toDate(ts) AS active
        FROM events
        WHERE environment = {environment:UInt64} AND NOT is_bot
            AND ts >= {middle:DateTime64(3, 'UTC')} - INTERVAL 30 DAY AND ts < {to:DateTime64(3, 'UTC')}
    )
)
WHERE day >= toDate({middle:DateTime64(3, 'UTC')}) AND day <= toDate({to:DateTime64(3, 'UTC')})
GROUP BY day
ORDER BY day
