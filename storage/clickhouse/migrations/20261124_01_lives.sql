-- If an id sends events after its person was erased, it is another visitor. Its number is combined by exclusive or
-- with a number that the erasure drew. life is this number for the visitor. other_life is the number for the anonymous
-- id of an event that also has a distinct id. Both are 0 if there was no erasure.
ALTER TABLE events
    ADD COLUMN IF NOT EXISTS life UInt64 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS other_life UInt64 CODEC(ZSTD(1));

ALTER TABLE events
    MODIFY COLUMN visitor UInt64
        MATERIALIZED bitXor(cityHash64(if(distinct_id != '', distinct_id, anonymous_id)), life) CODEC(LZ4);

ALTER TABLE occurrences ADD COLUMN IF NOT EXISTS life UInt64 CODEC(ZSTD(1));

ALTER TABLE occurrences
    ADD COLUMN IF NOT EXISTS visitor UInt64
        MATERIALIZED bitXor(cityHash64(if(distinct_id != '', distinct_id, anonymous_id)), life) CODEC(ZSTD(1));

CREATE OR REPLACE MATERIALIZED VIEW issue_users_of_occurrences TO issue_users AS
SELECT
    environment,
    ts,
    issue,
    if(distinct_id = '' AND anonymous_id = '', 0, bitXor(cityHash64(if(distinct_id != '', distinct_id, anonymous_id)), life)) AS user,
    expires
FROM occurrences;

CREATE OR REPLACE MATERIALIZED VIEW newcomers_of_events TO newcomers AS
SELECT
    environment,
    is_bot,
    visitor,
    min(ts) AS first_seen,
    max(expires) AS expires
FROM events
GROUP BY environment, is_bot, visitor;

CREATE OR REPLACE MATERIALIZED VIEW links_of_events TO links AS
SELECT environment, pair.1 AS anonymous, pair.2 AS known, min(ts) AS first
FROM
(
    SELECT environment, ts, arrayJoin(if(anonymous_id = '', [(visitor, visitor)], [(visitor, visitor), (bitXor(cityHash64(anonymous_id), other_life), visitor)])) AS pair
    FROM events
    WHERE name = '$identify' AND distinct_id != ''
)
GROUP BY environment, anonymous, known;

CREATE OR REPLACE MATERIALIZED VIEW aliases_of_events TO aliases AS
SELECT environment, least(visitor, bitXor(cityHash64(anonymous_id), other_life)) AS low, greatest(visitor, bitXor(cityHash64(anonymous_id), other_life)) AS high, min(ts) AS first
FROM events
WHERE name = '$alias' AND distinct_id != '' AND anonymous_id != '' AND anonymous_id != distinct_id
GROUP BY environment, low, high;
