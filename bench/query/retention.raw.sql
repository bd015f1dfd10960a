-- The cohorts of a window and their returning visitors, from the raw table.
SELECT cohort, count() AS visitors
FROM
(
    SELECT visitor, min(ts) AS first, dateTrunc({unit:String}, first) AS cohort,
        arrayJoin(groupUniqArrayIf(dateTrunc({unit:String}, ts), ts >= {middle:DateTime64(3, 'UTC')})) AS period
    FROM events
    WHERE environment = {environment:UInt64} AND NOT is_bot AND ts < {to:DateTime64(3, 'UTC')}
    GROUP BY visitor
    HAVING first >= {middle:DateTime64(3, 'UTC')}
)
GROUP BY cohort, period
ORDER BY cohort, period
