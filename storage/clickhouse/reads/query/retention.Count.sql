-- The visitors with their first-ever event in a period of a window and activity in that period, by the periods in
-- which they caused an event that counts. The first period always counts. A period is its index among at most 64
-- ascending starts, from 0 on. Each visitor is one row of a hash table: its first time, and bits for the periods. Key:
-- environment of newcomers, and that of the rows. Rows read: the visitors of the environment, and one row per slot and
-- session or the events of a filtered read; returned: one per pair of periods.
SELECT cohort, period, count() AS visitors
FROM
(
    SELECT
        toUInt8(indexOf({buckets:Array(UInt32)}, roundDown(toUInt32(intDiv(min(first), 1000)), {buckets:Array(UInt32)})) - 1) AS cohort,
        groupBitOr(if(counts, active, toUInt64(0))) AS counted
    FROM
    (
        SELECT
            counted AS who,
            toInt64(9223372036854775807) AS first,
            toUInt64(bitShiftLeft(toUInt64(1), indexOf({buckets:Array(UInt32)}, roundDown(at, {buckets:Array(UInt32)})) - 1)) AS active,
            counts
        FROM
        (
            $(rows)
        )
        UNION ALL
        SELECT visitor AS who, toUnixTimestamp64Milli(first_seen) AS first, toUInt64(0) AS active, false AS counts
        FROM newcomers
        WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    )
    GROUP BY who
    HAVING min(first) >= toUnixTimestamp64Milli({from:DateTime64(3, 'UTC')}) AND min(first) < toUnixTimestamp64Milli({to:DateTime64(3, 'UTC')})
        AND bitTest(groupBitOr(active), cohort)
)
ARRAY JOIN bitPositionsToArray(bitOr(counted, toUInt64(bitShiftLeft(toUInt64(1), cohort)))) AS period
GROUP BY cohort, period
