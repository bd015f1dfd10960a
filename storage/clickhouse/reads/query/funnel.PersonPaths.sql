-- Like funnel.Paths, if visitors are linked. The events of visitors are combined by person. The events of a shared
-- visitor are divided by the times at which the visitor belonged to each person. Key: environment, ts; environment of
-- links and roots. Rows read: the events of the window and of the funnel's hours after it, and the links; returned: at
-- most 256.
SELECT
    countIf(NOT goes_on) AS entered,
    reinterpret(groupArrayArrayIf(arrayConcat([person, toUInt64(length(steps))], steps), goes_on), 'String') AS paths
FROM
(
    SELECT share.1 AS person, bitAnd(groupBitOr(arrayReduce('groupBitOr', share.2)), 4095) > 1 OR {named:Bool} AS goes_on, arraySort(groupArrayArray(share.2)) AS steps
    FROM
    (
        SELECT if(length(l.spans) <= 1, [(if(empty(l.spans), v.visitor, l.spans[1].2), v.steps)],
            arrayMap((span, place) -> (span.2, arrayFilter(step -> greatest(1, arrayCount(other -> other.1 <= toInt64(bitShiftRight(step, 12)) + {origin:Int64}, l.spans)) = place, v.steps)), l.spans, arrayEnumerate(l.spans))) AS shares
        FROM
        (
            SELECT $(person.Hash) AS visitor, groupArray(bitOr(bitShiftLeft(toUInt64(toUnixTimestamp64Milli(ts) - {origin:Int64}), 12), toUInt64($(steps)))) AS steps
            FROM events
            WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
                AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {until:DateTime64(3, 'UTC')}
                AND $(steps) != 0
            GROUP BY visitor
        ) AS v
        LEFT JOIN ($(persons.Links)) AS l ON l.visitor = v.visitor
    )
    ARRAY JOIN shares AS share
    GROUP BY person
    HAVING max(arrayExists(step -> bitAnd(step, 1) = 1 AND toInt64(bitShiftRight(step, 12)) + {origin:Int64} < toUnixTimestamp64Milli({to:DateTime64(3, 'UTC')}), share.2))
)
GROUP BY bitAnd(person, 255)
