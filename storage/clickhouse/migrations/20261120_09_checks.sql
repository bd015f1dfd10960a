-- The checks of monitors, for 90 days. A row has the result of the check and the state after it, so the latest row of
-- a monitor is its state.
CREATE TABLE IF NOT EXISTS checks
(
    app               LowCardinality(String) CODEC(ZSTD(1)),
    monitor           LowCardinality(String) CODEC(ZSTD(1)),
    at                DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    status            LowCardinality(String) CODEC(ZSTD(1)),
    failures          UInt32 CODEC(T64, ZSTD(1)),
    code              UInt16 CODEC(T64, ZSTD(1)),
    error             LowCardinality(String) CODEC(ZSTD(1)),
    dns               UInt32 CODEC(T64, ZSTD(1)),
    connect           UInt32 CODEC(T64, ZSTD(1)),
    tls               UInt32 CODEC(T64, ZSTD(1)),
    first_byte        UInt32 CODEC(T64, ZSTD(1)),
    total             UInt32 CODEC(T64, ZSTD(1)),
    certificate_ends  DateTime('UTC') CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (app, monitor, at)
TTL toDate(at) + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 1000;

-- The number of checks per hour, and the number of checks after which the monitor was not down.
CREATE TABLE IF NOT EXISTS uptime
(
    app     LowCardinality(String) CODEC(ZSTD(1)),
    monitor LowCardinality(String) CODEC(ZSTD(1)),
    hour    DateTime('UTC') CODEC(Delta, ZSTD(1)),
    checks  SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1)),
    up      SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (app, monitor, hour)
TTL toDate(hour) + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS uptime_of_checks TO uptime AS
SELECT app, monitor, toStartOfHour(at) AS hour, count() AS checks, countIf(status != 'down') AS up
FROM checks
GROUP BY app, monitor, hour;

-- The latest check of each monitor.
CREATE TABLE IF NOT EXISTS latest_checks
(
    app      LowCardinality(String) CODEC(ZSTD(1)),
    monitor  LowCardinality(String) CODEC(ZSTD(1)),
    at       DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    status   LowCardinality(String) CODEC(ZSTD(1)),
    failures UInt32 CODEC(ZSTD(1)),
    error    LowCardinality(String) CODEC(ZSTD(1)),
    total    UInt32 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(at)
ORDER BY (app, monitor)
TTL toDate(at) + INTERVAL 90 DAY
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS latest_checks_of_checks TO latest_checks AS
SELECT app, monitor, at, status, failures, error, total
FROM checks
ORDER BY at DESC
LIMIT 1 BY app, monitor;
