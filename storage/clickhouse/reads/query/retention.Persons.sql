-- Like retention.Count, if visitors are linked. A person was first seen when the first of its visitors was, and active
-- when any of its visitors was. Events of a shared visitor are divided by the times at which the visitor belonged to
-- each person. Key: that of retention.Count, environment of links and roots, and the index of visitors of events. Rows
-- read: the rows of retention.Count, and the events of shared visitors; returned: one per pair of periods.
SELECT cohort, period, count() AS persons
FROM
(
    SELECT
        toUInt8(indexOf({buckets:Array(UInt32)}, roundDown(toUInt32(intDiv(min(first), 1000)), {buckets:Array(UInt32)})) - 1) AS cohort,
        groupBitOr(counts) AS counted
    FROM
    (
        SELECT if(empty(l.spans), v.visitor, l.spans[1].2) AS person, v.began AS first, v.acted AS active, v.counted AS counts
        FROM
        (
            SELECT visitor, min(first) AS began, groupBitOr(active) AS acted, groupBitOr(if(counts, active, toUInt64(0))) AS counted
            FROM
            (
                SELECT
                    visitor,
                    toInt64(9223372036854775807) AS first,
                    toUInt64(bitShiftLeft(toUInt64(1), indexOf({buckets:Array(UInt32)}, roundDown(at, {buckets:Array(UInt32)})) - 1)) AS active,
                    counts
                FROM
                (
                    $(rows)
                )
                UNION ALL
                SELECT visitor, toUnixTimestamp64Milli(first_seen) AS first, toUInt64(0) AS active, false AS counts
                FROM newcomers
                WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
            )
            GROUP BY visitor
        ) AS v
        LEFT JOIN ($(persons.Links)) AS l ON l.visitor = v.visitor
        WHERE length(l.spans) <= 1
        UNION ALL
        SELECT person, min(ms) AS first, groupBitOr(acted) AS active, groupBitOr(if(passes, acted, toUInt64(0))) AS counts
        FROM
        (
            SELECT
                $(persons.At) AS person,
                toUnixTimestamp64Milli(ts) AS ms,
                if(ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')} AND ({event:String} != '' OR session_deeds < 16) AND ($(where)),
                    toUInt64(bitShiftLeft(toUInt64(1), indexOf({buckets:Array(UInt32)}, roundDown(toUInt32(toUnixTimestamp(ts)), {buckets:Array(UInt32)})) - 1)), toUInt64(0)) AS acted,
                {event:String} = '' OR name = {event:String} AS passes
            FROM events
            INNER JOIN ($(persons.Shared)) AS shared USING (visitor)
            WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND $(persons.Sought) IN ($(persons.SharedVisitors))
        )
        GROUP BY person
    )
    GROUP BY person
    HAVING min(first) >= toUnixTimestamp64Milli({from:DateTime64(3, 'UTC')}) AND min(first) < toUnixTimestamp64Milli({to:DateTime64(3, 'UTC')})
        AND bitTest(groupBitOr(active), cohort)
)
ARRAY JOIN bitPositionsToArray(bitOr(counted, toUInt64(bitShiftLeft(toUInt64(1), cohort)))) AS period
GROUP BY cohort, period
