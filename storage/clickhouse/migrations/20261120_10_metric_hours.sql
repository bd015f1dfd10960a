-- The five-minute sums over all series of a metric by the hour: a month of a histogram has a
-- twelfth of the rows, and as much fewer bins as the same values come again.
CREATE TABLE IF NOT EXISTS metric_hours
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

-- What was stored before. The view is made last, so that nothing counts twice where this
-- migration is repeated; while it runs, no other node may store points.
TRUNCATE TABLE metric_hours;

INSERT INTO metric_hours
SELECT
    environment,
    name,
    toStartOfHour(r.slot) AS slot,
    sum(r.count) AS count,
    sum(r.sum) AS sum,
    min(r.min) AS min,
    max(r.max) AS max,
    sumMap(r.sketch) AS sketch,
    max(r.expires) AS expires
FROM metric_totals AS r
GROUP BY environment, name, slot;

CREATE MATERIALIZED VIEW IF NOT EXISTS metric_hours_of_totals TO metric_hours AS
SELECT
    environment,
    name,
    toStartOfHour(r.slot) AS slot,
    sum(r.count) AS count,
    sum(r.sum) AS sum,
    min(r.min) AS min,
    max(r.max) AS max,
    sumMap(r.sketch) AS sketch,
    max(r.expires) AS expires
FROM metric_totals AS r
GROUP BY environment, name, slot;
