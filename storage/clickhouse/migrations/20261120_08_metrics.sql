-- Every accepted data point of a metric. Points are inserted in the same blocks as events, under the same tokens. A
-- point has count observations. If there are several, values has them and weights has their weights. state is the
-- state that a cumulative series had reached. A new owner of the partition reads it back.
CREATE TABLE IF NOT EXISTS metric_points
(
    environment UInt64 CODEC(ZSTD(1)),
    name        LowCardinality(String) CODEC(ZSTD(1)),
    series      UInt64 CODEC(ZSTD(1)),
    ts          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    received_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    id          String CODEC(ZSTD(1)),
    once        Bool CODEC(ZSTD(1)),
    count       UInt64 CODEC(ZSTD(1)),
    sum         Float64 CODEC(ZSTD(1)),
    min         Float64 CODEC(ZSTD(1)),
    max         Float64 CODEC(ZSTD(1)),
    values      Array(Float64) CODEC(ZSTD(1)),
    weights     Array(UInt64) CODEC(ZSTD(1)),
    state       String CODEC(ZSTD(1)),
    block       UInt64 CODEC(ZSTD(1)),
    expires     Date CODEC(ZSTD(1)),
    INDEX received received_at TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(ts)
PRIMARY KEY (environment, name, ts)
ORDER BY (environment, name, ts, series)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 268435456;

-- The catalogue of all series with their labels. label_keys and label_values have the same order. Blocks add one row
-- for each of their series, and repeated rows change nothing.
CREATE TABLE IF NOT EXISTS metric_series
(
    environment UInt64 CODEC(ZSTD(1)),
    name        String CODEC(ZSTD(1)),
    series      UInt64 CODEC(ZSTD(1)),
    last_seen   SimpleAggregateFunction(max, DateTime64(3, 'UTC')) CODEC(ZSTD(1)),
    kind        AggregateFunction(argMax, String, DateTime64(3, 'UTC')) CODEC(ZSTD(1)),
    unit        AggregateFunction(argMax, String, DateTime64(3, 'UTC')) CODEC(ZSTD(1)),
    label_keys   SimpleAggregateFunction(any, Array(String)) CODEC(ZSTD(1)),
    label_values SimpleAggregateFunction(any, Array(String)) CODEC(ZSTD(1)),
    expires     SimpleAggregateFunction(max, Date) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
PRIMARY KEY (environment, name)
ORDER BY (environment, name, series)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024;

-- Blocks insert their series here. This table stores nothing.
CREATE TABLE IF NOT EXISTS metric_seen
(
    environment  UInt64,
    name         String,
    series       UInt64,
    last_seen    DateTime64(3, 'UTC'),
    kind         LowCardinality(String),
    unit         LowCardinality(String),
    label_keys   Array(String),
    label_values Array(String),
    expires      Date
)
ENGINE = Null;

CREATE MATERIALIZED VIEW IF NOT EXISTS metric_series_of_seen TO metric_series AS
SELECT
    environment,
    name,
    series,
    max(s.last_seen) AS last_seen,
    argMaxState(toString(s.kind), s.last_seen) AS kind,
    argMaxState(toString(s.unit), s.last_seen) AS unit,
    any(s.label_keys) AS label_keys,
    any(s.label_values) AS label_values,
    max(s.expires) AS expires
FROM metric_seen AS s
GROUP BY environment, name, series;

-- Five-minute sums of a series. The sketch counts observations in bins that grow by ln((1 + a) / (1 - a)) =
-- 0.020000666706669543 in the logarithm. a = 0.01 is the relative error of a percentile. metric.SketchKey computes the
-- same bins. Sketches merge by adding counts.
CREATE TABLE IF NOT EXISTS metric_rollups
(
    environment UInt64 CODEC(ZSTD(1)),
    name        LowCardinality(String) CODEC(ZSTD(1)),
    series      UInt64 CODEC(ZSTD(1)),
    slot        DateTime('UTC') CODEC(Delta, ZSTD(1)),
    count       SimpleAggregateFunction(sum, UInt64) CODEC(ZSTD(1)),
    sum         SimpleAggregateFunction(sum, Float64) CODEC(ZSTD(1)),
    min         SimpleAggregateFunction(min, Float64) CODEC(ZSTD(1)),
    max         SimpleAggregateFunction(max, Float64) CODEC(ZSTD(1)),
    sketch      SimpleAggregateFunction(sumMap, Tuple(Array(Int16), Array(UInt64))) CODEC(ZSTD(1)),
    expires     SimpleAggregateFunction(max, Date) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(slot)
ORDER BY (environment, name, series, slot)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS metric_rollups_of_points TO metric_rollups AS
SELECT
    environment,
    name,
    series,
    toStartOfFiveMinutes(toDateTime(p.ts, 'UTC')) AS slot,
    sum(p.count) AS count,
    sum(p.sum) AS sum,
    min(p.min) AS min,
    max(p.max) AS max,
    sumMap(
        arrayMap(v -> toInt16(if(abs(v) < 1e-12, 0, sign(v) * (ceil(log(least(abs(v), 1e30)) / 0.020000666706669543) + 1382))),
            if(empty(p.values), [p.sum], p.values)),
        if(empty(p.values), [p.count], p.weights)
    ) AS sketch,
    max(p.expires) AS expires
FROM metric_points AS p
WHERE p.count > 0
GROUP BY environment, name, series, slot;

-- The same sums over all series of a metric, so the cost of reads without labels does not depend on the number of
-- series.
CREATE TABLE IF NOT EXISTS metric_totals
(
    environment UInt64 CODEC(ZSTD(1)),
    name        LowCardinality(String) CODEC(ZSTD(1)),
    slot        DateTime('UTC') CODEC(Delta, ZSTD(1)),
    count       SimpleAggregateFunction(sum, UInt64) CODEC(ZSTD(1)),
    sum         SimpleAggregateFunction(sum, Float64) CODEC(ZSTD(1)),
    min         SimpleAggregateFunction(min, Float64) CODEC(ZSTD(1)),
    max         SimpleAggregateFunction(max, Float64) CODEC(ZSTD(1)),
    sketch      SimpleAggregateFunction(sumMap, Tuple(Array(Int16), Array(UInt64))) CODEC(ZSTD(1)),
    expires     SimpleAggregateFunction(max, Date) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(slot)
ORDER BY (environment, name, slot)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024;

CREATE MATERIALIZED VIEW IF NOT EXISTS metric_totals_of_points TO metric_totals AS
SELECT
    environment,
    name,
    toStartOfFiveMinutes(toDateTime(p.ts, 'UTC')) AS slot,
    sum(p.count) AS count,
    sum(p.sum) AS sum,
    min(p.min) AS min,
    max(p.max) AS max,
    sumMap(
        arrayMap(v -> toInt16(if(abs(v) < 1e-12, 0, sign(v) * (ceil(log(least(abs(v), 1e30)) / 0.020000666706669543) + 1382))),
            if(empty(p.values), [p.sum], p.values)),
        if(empty(p.values), [p.count], p.weights)
    ) AS sketch,
    max(p.expires) AS expires
FROM metric_points AS p
WHERE p.count > 0
GROUP BY environment, name, slot;
