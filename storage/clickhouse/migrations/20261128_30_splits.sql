-- Ids that members removed from a person. at is the time of the decision, in milliseconds since the epoch. If since is
-- 0, the ties of the id up to at are undone. devices is true if the ids that were identified as this id stay with it.
-- If since is not 0, the events of the id from since on belong to another number, late. All later ties then belong to
-- late, too.
CREATE TABLE IF NOT EXISTS splits
(
    environment UInt64 CODEC(LZ4),
    visitor     UInt64 CODEC(LZ4),
    at          Int64 CODEC(LZ4),
    since       Int64 CODEC(LZ4),
    late        UInt64 CODEC(LZ4),
    devices     UInt8 CODEC(LZ4)
)
ENGINE = ReplacingMergeTree
ORDER BY (environment, visitor, at)
SETTINGS non_replicated_deduplication_window = 0, index_granularity = 1024;

-- Ties of ids that were never removed from a person. The views below make the ties of all other ids.
CREATE OR REPLACE MATERIALIZED VIEW links_of_events TO links AS
SELECT environment, pair.1 AS anonymous, pair.2 AS known, min(ts) AS first
FROM
(
    SELECT environment, ts, arrayJoin(if(anonymous_id = '', [(visitor, visitor)], [(visitor, visitor), (bitXor(cityHash64(anonymous_id), other_life), visitor)])) AS pair
    FROM events
    WHERE name = '$identify' AND distinct_id != ''
        AND (environment, visitor) NOT IN (SELECT environment, visitor FROM splits)
        AND (environment, bitXor(cityHash64(anonymous_id), other_life)) NOT IN (SELECT environment, visitor FROM splits)
)
GROUP BY environment, anonymous, known;

CREATE OR REPLACE MATERIALIZED VIEW aliases_of_events TO aliases AS
SELECT environment, least(visitor, bitXor(cityHash64(anonymous_id), other_life)) AS low, greatest(visitor, bitXor(cityHash64(anonymous_id), other_life)) AS high, min(ts) AS first
FROM events
WHERE name = '$alias' AND distinct_id != '' AND anonymous_id != '' AND anonymous_id != distinct_id
    AND (environment, visitor) NOT IN (SELECT environment, visitor FROM splits)
    AND (environment, bitXor(cityHash64(anonymous_id), other_life)) NOT IN (SELECT environment, visitor FROM splits)
GROUP BY environment, low, high;

CREATE OR REPLACE MATERIALIZED VIEW links_of_split_events TO links AS
SELECT environment, pair.1 AS anonymous, pair.2 AS known, min(ts) AS first
FROM
(
    SELECT
        e.environment AS environment, e.ts AS ts, e.visitor AS visitor, e.other AS other,
        arrayLast(x -> x.1 < e.ms AND x.1 > k.undone, k.lates).2 AS late,
        arrayLast(x -> x.1 < e.ms AND x.1 > a.undone, a.lates).2 AS other_late,
        if(late = 0, e.visitor, late) AS node,
        if(other_late = 0, e.other, other_late) AS other_node,
        arrayJoin(arrayConcat([(visitor, visitor)], if(e.named AND a.undone < e.ms AND (k.undone < e.ms OR k.devices = 1), [(other_node, node), (other, node)], []))) AS pair
    FROM
    (
        SELECT environment, ts, toUnixTimestamp64Milli(ts) AS ms, visitor, bitXor(cityHash64(anonymous_id), other_life) AS other, anonymous_id != '' AS named
        FROM events
        WHERE name = '$identify' AND distinct_id != ''
            AND ((environment, visitor) IN (SELECT environment, visitor FROM splits) OR (environment, other) IN (SELECT environment, visitor FROM splits))
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
GROUP BY environment, anonymous, known;

CREATE OR REPLACE MATERIALIZED VIEW aliases_of_split_events TO aliases AS
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
GROUP BY environment, low, high;
