-- The visitors whose first-ever event fell in a period of a window and who were active in
-- it, by the periods in which they caused an event that counts; the first period counts
-- always. Periods are named by their beginnings in seconds since 1970. Key: environment of
-- newcomers, and that of the rows. Rows read: the visitors of the environment, and one row
-- per slot and session or the events of a filtered read; returned: one per pair of periods.
SELECT cohort, period, count() AS visitors
FROM
(
    SELECT
        any(began) AS cohort,
        groupUniqArray(roundDown(at, {buckets:Array(UInt32)})) AS seen,
        groupUniqArrayIf(roundDown(at, {buckets:Array(UInt32)}), counts) AS counted
    FROM
    (
        $(rows)
    ) AS active
    INNER JOIN
    (
        SELECT visitor, roundDown(toUInt32(toUnixTimestamp(min(first_seen))), {buckets:Array(UInt32)}) AS began
        FROM newcomers
        WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
        GROUP BY visitor
        HAVING min(first_seen) >= {from:DateTime64(3, 'UTC')} AND min(first_seen) < {to:DateTime64(3, 'UTC')}
    ) AS arrived USING (visitor)
    GROUP BY visitor
    HAVING has(seen, cohort)
)
ARRAY JOIN arrayDistinct(arrayPushBack(counted, cohort)) AS period
GROUP BY cohort, period
