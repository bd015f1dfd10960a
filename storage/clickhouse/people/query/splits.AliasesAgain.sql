-- The aliases of an id since its removal from a person, in the form of the view of aliases. Key: environment, ts. Rows
-- read: the events since the removal.
INSERT INTO aliases (environment, low, high, first)
SELECT environment, least(node, other_node) AS low, greatest(node, other_node) AS high, min(ts) AS first
FROM
(
    SELECT
        e.environment AS environment, e.ts AS ts, e.visitor AS visitor, e.other AS other,
        arrayLast(x -> x.1 < e.ms AND x.1 > k.undone, k.lates).2 AS late,
        arrayLast(x -> x.1 < e.ms AND x.1 > a.undone, a.lates).2 AS other_late,
        if(late = 0, e.visitor, late) AS node,
        if(other_late = 0, e.other, other_late) AS other_node,
        a.undone < e.ms AND k.undone < e.ms AS holds
    FROM
    (
        SELECT environment, ts, toUnixTimestamp64Milli(ts) AS ms, visitor, bitXor(cityHash64(anonymous_id), other_life) AS other, anonymous_id != '' AS named
        FROM events
        WHERE name = '$alias' AND distinct_id != '' AND anonymous_id != '' AND anonymous_id != distinct_id
            AND ((environment, visitor) IN (SELECT environment, visitor FROM splits) OR (environment, other) IN (SELECT environment, visitor FROM splits))
            AND environment = {environment:UInt64} AND ts > fromUnixTimestamp64Milli({at:Int64}, 'UTC') AND (visitor = {visitor:UInt64} OR other = {visitor:UInt64})
    ) AS e
    LEFT JOIN
    (
        SELECT environment, visitor, max(if(late = 0, at, 0)) AS undone, argMaxIf(devices, at, late = 0) AS devices, arraySort(groupArrayIf((at, late), late != 0)) AS lates
        FROM splits
        GROUP BY environment, visitor
    ) AS k ON k.environment = e.environment AND k.visitor = e.visitor
    LEFT JOIN
    (
        SELECT environment, visitor, max(if(late = 0, at, 0)) AS undone, argMaxIf(devices, at, late = 0) AS devices, arraySort(groupArrayIf((at, late), late != 0)) AS lates
        FROM splits
        GROUP BY environment, visitor
    ) AS a ON a.environment = e.environment AND a.visitor = e.other
)
WHERE holds AND node != other_node
GROUP BY environment, low, high
