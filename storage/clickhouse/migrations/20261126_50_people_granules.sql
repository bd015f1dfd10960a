-- Reads find the rows of a few visitors by key, and they read at least one granule. A granule of arrivals had 1,024
-- rows of states that are slow to decode, and a granule of traits had 1,024 rows of maps. The tables are created again
-- with small granules, each in one step that may be repeated. The step copies all rows, and the copy takes the name of
-- the table. Merged parts store maps in sixteen buckets by key, so a condition on one trait reads a sixteenth of them.
CREATE OR REPLACE TABLE arrivals
(
    environment UInt64 CODEC(LZ4),
    visitor     UInt64 CODEC(LZ4),
    id          SimpleAggregateFunction(any, String) CODEC(ZSTD(1)),
    sessions    AggregateFunction(uniqExact, UInt64) CODEC(ZSTD(1)),
    first_touch AggregateFunction(argMinIf, Tuple(String, String, String, String, String, Int64), Tuple(DateTime64(3, 'UTC'), String), UInt8) CODEC(ZSTD(1)),
    last_touch  AggregateFunction(argMaxIf, Tuple(String, String, String, String, String, Int64), Tuple(DateTime64(3, 'UTC'), String), UInt8) CODEC(ZSTD(1)),
    place       AggregateFunction(argMaxIf, Tuple(String, String, String, String, String, String, Int64), Tuple(DateTime64(3, 'UTC'), String), UInt8) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (environment, visitor)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 64
AS SELECT * FROM arrivals;

CREATE OR REPLACE TABLE traits
(
    environment UInt64 CODEC(LZ4),
    visitor     UInt64 CODEC(LZ4),
    identified  SimpleAggregateFunction(max, UInt8) CODEC(LZ4),
    signed_up   SimpleAggregateFunction(max, UInt8) CODEC(LZ4),
    mailed      SimpleAggregateFunction(max, UInt8) CODEC(LZ4),
    email       SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    name        SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    company     SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    traits      SimpleAggregateFunction(maxMap, Map(String, String)) CODEC(ZSTD(1)),
    once        SimpleAggregateFunction(minMap, Map(String, String)) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (environment, visitor)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 128,
    map_serialization_version = 'with_buckets', map_serialization_version_for_zero_level_parts = 'basic', map_buckets_strategy = 'constant', max_buckets_in_map = 16, map_buckets_min_avg_size = 0
AS SELECT * FROM traits;

-- Adds the rows that a node of the previous version stored in the meantime, from recently received events. A row may
-- be folded twice without harm.
INSERT INTO arrivals
SELECT
    environment,
    visitor,
    any(if(distinct_id != '', distinct_id, anonymous_id)) AS id,
    uniqExactState(session) AS sessions,
    argMinIfState((toString(source), toString(medium), toString(utm_campaign), referrer, url, toUnixTimestamp64Milli(ts)), (ts, events.id), name NOT IN ('$identify', '$alias')) AS first_touch,
    argMaxIfState((toString(source), toString(medium), toString(utm_campaign), referrer, url, toUnixTimestamp64Milli(ts)), (ts, events.id), name NOT IN ('$identify', '$alias')) AS last_touch,
    argMaxIfState((toString(country), toString(region), toString(city), toString(device), toString(browser), toString(os), toUnixTimestamp64Milli(ts)), (ts, events.id), name NOT IN ('$identify', '$alias')) AS place
FROM events
WHERE received_at >= now64(3) - toIntervalHour(1) AND (NOT is_bot OR name IN ('$identify', '$alias')) AND toUnixTimestamp64Milli(ts) = toUnixTimestamp64Milli(session_started) - session_before
GROUP BY environment, visitor
SETTINGS max_bytes_before_external_group_by = 500000000;

INSERT INTO traits
SELECT
    environment,
    visitor,
    max(told AND known) AS identified,
    max(NOT told) AS signed_up,
    max(mapContains(said, 'email') AND said['email'] NOT IN ('null', '""')) AS mailed,
    max(if(mapContains(said, 'email'), concat(stamp, JSONExtractString(said['email'])), '')) AS email,
    max(multiIf(mapContains(said, 'name'), concat(stamp, JSONExtractString(said['name'])),
        mapContains(said, 'firstName') OR mapContains(said, 'lastName'), concat(stamp, trim(concat(JSONExtractString(said['firstName']), ' ', JSONExtractString(said['lastName'])))), '')) AS name,
    max(if(mapContains(said, 'company'), concat(stamp, if(JSONType(said['company']) = 'Object', JSONExtractString(said['company'], 'name'), JSONExtractString(said['company']))), '')) AS company,
    maxMap(mapApply((k, v) -> (k, concat(stamp, v)), said)) AS traits,
    minMap(mapApply((k, v) -> (k, concat(stamp, v)), first)) AS once
FROM
(
    SELECT
        environment, visitor,
        distinct_id != '' AS known,
        name = '$identify' AS told,
        leftPad(toString(greatest(toUnixTimestamp64Milli(ts), 0)), 14, '0') AS stamp,
        CAST(if(told, arrayFilter(pair -> NOT startsWith(pair.1, '$set') AND length(pair.2) <= 2048, arrayConcat(JSONExtractKeysAndValuesRaw(properties), JSONExtractKeysAndValuesRaw(properties, '$set'))), []), 'Map(String, String)') AS said,
        CAST(if(told, arrayFilter(pair -> length(pair.2) <= 2048, JSONExtractKeysAndValuesRaw(properties, '$set_once')), []), 'Map(String, String)') AS first
    FROM events
    WHERE received_at >= now64(3) - toIntervalHour(1) AND (name = '$identify' OR name = 'signup' AND NOT is_bot)
)
GROUP BY environment, visitor
SETTINGS max_bytes_before_external_group_by = 500000000;
