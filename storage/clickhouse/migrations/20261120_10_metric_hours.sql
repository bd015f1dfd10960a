-- The sums over all series of a metric per hour, from the five-minute sums. A month of a histogram then has a twelfth
-- of the rows. It also has fewer bins if the same values occur again within an hour.
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

-- Adds the rows from before this migration. The view is created last, so nothing counts twice if the migration is
-- repeated. While it runs, no other node may store points.
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
