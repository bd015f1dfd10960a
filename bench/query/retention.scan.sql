-- Like retention.raw, with only the events that pass a filter: a visitor must have caused one in its first period.
SELECT cohort, count() AS visitors
FROM
(
    SELECT visitor, min(ts) AS first, dateTrunc({unit:String}, first) AS cohort,
        groupUniqArrayIf(dateTrunc({unit:String}, ts), ts >= {middle:DateTime64(3, 'UTC')} AND {column:Identifier} = {value:String}) AS periods
    FROM events
    WHERE environment = {environment:UInt64} AND NOT is_bot AND ts < {to:DateTime64(3, 'UTC')}
    GROUP BY visitor
    HAVING first >= {middle:DateTime64(3, 'UTC')} AND has(periods, cohort)
)
ARRAY JOIN periods AS period
GROUP BY cohort, period
ORDER BY cohort, period
