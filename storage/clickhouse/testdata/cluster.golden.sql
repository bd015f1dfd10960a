CREATE DATABASE IF NOT EXISTS {database:Identifier} ON CLUSTER 'main';

CREATE TABLE IF NOT EXISTS migrations ON CLUSTER 'main'
(
    name    String,
    applied DateTime('UTC') DEFAULT now()
)
ENGINE = ReplicatedReplacingMergeTree(applied)
ORDER BY name;

ALTER TABLE events ON CLUSTER 'main' MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

CREATE TABLE IF NOT EXISTS events ON CLUSTER 'main'
(
    environment      UInt64 CODEC(ZSTD(1)),
    ts               DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    received_at      DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    id               String CODEC(ZSTD(1)),
    name             LowCardinality(String) CODEC(ZSTD(1)),
    url              String CODEC(ZSTD(1)),
    path             LowCardinality(String) CODEC(ZSTD(1)),
    title            String CODEC(ZSTD(1)),
    referrer         String CODEC(ZSTD(1)),
    referrer_domain  LowCardinality(String) CODEC(ZSTD(1)),
    distinct_id      String CODEC(ZSTD(1)),
    anonymous_id     String CODEC(ZSTD(1)),
    person_id        String CODEC(ZSTD(1)),
    session_id       String CODEC(ZSTD(1)),
    session_started  DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    bounce_delta     Int8 CODEC(ZSTD(1)),
    duration_delta   Int64 CODEC(T64, ZSTD(1)),
    engaged_ms       Int64 CODEC(T64, ZSTD(1)),
    source           LowCardinality(String) CODEC(ZSTD(1)),
    medium           LowCardinality(String) CODEC(ZSTD(1)),
    utm_source       LowCardinality(String) CODEC(ZSTD(1)),
    utm_medium       LowCardinality(String) CODEC(ZSTD(1)),
    utm_campaign     LowCardinality(String) CODEC(ZSTD(1)),
    utm_term         LowCardinality(String) CODEC(ZSTD(1)),
    utm_content      LowCardinality(String) CODEC(ZSTD(1)),
    click_ids        String CODEC(ZSTD(1)), -- a JSON object, empty where there is none
    country          LowCardinality(String) CODEC(ZSTD(1)),
    region           LowCardinality(String) CODEC(ZSTD(1)),
    city             LowCardinality(String) CODEC(ZSTD(1)),
    device           LowCardinality(String) CODEC(ZSTD(1)),
    browser          LowCardinality(String) CODEC(ZSTD(1)),
    browser_version  LowCardinality(String) CODEC(ZSTD(1)),
    os               LowCardinality(String) CODEC(ZSTD(1)),
    os_version       LowCardinality(String) CODEC(ZSTD(1)),
    screen           LowCardinality(String) CODEC(ZSTD(1)),
    locale           LowCardinality(String) CODEC(ZSTD(1)),
    value            Nullable(Float64) CODEC(ZSTD(1)),
    currency         LowCardinality(String) CODEC(ZSTD(1)),
    properties       String CODEC(ZSTD(1)), -- a JSON object
    release          LowCardinality(String) CODEC(ZSTD(1)),
    library          LowCardinality(String) CODEC(ZSTD(1)),
    is_bot           Bool CODEC(ZSTD(1)),
    block            UInt64 CODEC(ZSTD(1)),
    expires          Date CODEC(ZSTD(1)),
    INDEX received received_at TYPE minmax GRANULARITY 1,
    INDEX started session_started TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedMergeTree
PARTITION BY toYYYYMM(ts)
PRIMARY KEY (environment, ts)
ORDER BY (environment, ts, id)
TTL expires
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, min_bytes_for_wide_part = 268435456;

CREATE TABLE IF NOT EXISTS traffic ON CLUSTER 'main'
(
    environment UInt64 CODEC(ZSTD(1)),
    slot        DateTime('UTC') CODEC(Delta, ZSTD(1)),
    is_bot      Bool CODEC(ZSTD(1)),
    events      SimpleAggregateFunction(sum, Int64) CODEC(ZSTD(1)),
    pageviews   SimpleAggregateFunction(sum, Int64) CODEC(ZSTD(1)),
    bounces     SimpleAggregateFunction(sum, Int64) CODEC(ZSTD(1)),
    duration_ms SimpleAggregateFunction(sum, Int64) CODEC(ZSTD(1)),
    expires     SimpleAggregateFunction(max, Date) CODEC(ZSTD(1))
)
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMM(slot)
ORDER BY (environment, slot, is_bot)
TTL expires
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE MATERIALIZED VIEW IF NOT EXISTS traffic_of_events ON CLUSTER 'main' TO traffic AS
SELECT
    environment,
    part.1 AS slot,
    is_bot,
    sum(part.2) AS events,
    sum(part.3) AS pageviews,
    sum(part.4) AS bounces,
    sum(part.5) AS duration_ms,
    max(latest) AS expires
FROM
(
    SELECT
        environment,
        toStartOfFifteenMinutes(ts) AS active,
        toStartOfFifteenMinutes(session_started) AS began,
        is_bot,
        toInt64(count()) AS occurred,
        toInt64(countIf(name IN ('page_view', '$pageview'))) AS viewed,
        toInt64(sum(bounce_delta)) AS bounced,
        toInt64(sum(duration_delta)) AS lasted,
        max(expires) AS latest
    FROM events
    GROUP BY environment, active, began, is_bot
)
ARRAY JOIN [(active, occurred, viewed, toInt64(0), toInt64(0)), (began, toInt64(0), toInt64(0), bounced, lasted)] AS part
GROUP BY environment, slot, is_bot;

CREATE TABLE IF NOT EXISTS visits ON CLUSTER 'main'
(
    environment UInt64 CODEC(ZSTD(1)),
    slot        DateTime('UTC') CODEC(Delta, ZSTD(1)),
    is_bot      Bool CODEC(ZSTD(1)),
    visitor     UInt64 CODEC(Delta, ZSTD(1)),
    session     UInt64 CODEC(ZSTD(1)),
    events      SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1)),
    expires     SimpleAggregateFunction(max, Date) CODEC(ZSTD(1))
)
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMM(slot)
PRIMARY KEY (environment, slot)
ORDER BY (environment, slot, is_bot, visitor, session)
TTL expires
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE MATERIALIZED VIEW IF NOT EXISTS visits_of_events ON CLUSTER 'main' TO visits AS
SELECT
    environment,
    toStartOfFifteenMinutes(ts) AS slot,
    is_bot,
    cityHash64(if(distinct_id != '', distinct_id, anonymous_id)) AS visitor,
    cityHash64(if(distinct_id != '', distinct_id, anonymous_id), session_id) AS session,
    count() AS events,
    max(expires) AS expires
FROM events
GROUP BY environment, slot, is_bot, visitor, session;

CREATE TABLE IF NOT EXISTS names ON CLUSTER 'main'
(
    environment UInt64 CODEC(ZSTD(1)),
    slot        DateTime('UTC') CODEC(Delta, ZSTD(1)),
    is_bot      Bool CODEC(ZSTD(1)),
    name        LowCardinality(String) CODEC(ZSTD(1)),
    visitor     UInt64 CODEC(Delta, ZSTD(1)),
    events      SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1)),
    last_seen   SimpleAggregateFunction(max, DateTime64(3, 'UTC')) CODEC(T64, ZSTD(1)),
    expires     SimpleAggregateFunction(max, Date) CODEC(ZSTD(1))
)
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMM(slot)
PRIMARY KEY (environment, slot)
ORDER BY (environment, slot, is_bot, name, visitor)
TTL expires
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE MATERIALIZED VIEW IF NOT EXISTS names_of_events ON CLUSTER 'main' TO names AS
SELECT
    environment,
    toStartOfFifteenMinutes(ts) AS slot,
    is_bot,
    name,
    cityHash64(if(distinct_id != '', distinct_id, anonymous_id)) AS visitor,
    count() AS events,
    max(ts) AS last_seen,
    max(expires) AS expires
FROM events
GROUP BY environment, slot, is_bot, name, visitor;

CREATE TABLE IF NOT EXISTS entities ON CLUSTER 'main'
(
    owner   String CODEC(ZSTD(1)),
    kind    LowCardinality(String) CODEC(ZSTD(1)),
    id      String CODEC(ZSTD(1)),
    version UInt64 CODEC(ZSTD(1)),
    deleted Bool CODEC(ZSTD(1)),
    payload String CODEC(ZSTD(1)),
    INDEX kinds kind TYPE set(100) GRANULARITY 1
)
ENGINE = ReplicatedReplacingMergeTree(version)
ORDER BY (owner, kind, id)
SETTINGS index_granularity = 1024, replicated_deduplication_window = 0, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS wakeups ON CLUSTER 'main'
(
    kind     LowCardinality(String) CODEC(ZSTD(1)),
    identity String CODEC(ZSTD(1)),
    name     LowCardinality(String) CODEC(ZSTD(1)),
    due      DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    version  UInt64 CODEC(ZSTD(1)),
    deleted  Bool CODEC(ZSTD(1))
)
ENGINE = ReplicatedReplacingMergeTree(version)
ORDER BY (kind, identity, name)
SETTINGS index_granularity = 1024, replicated_deduplication_window = 0, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS audit ON CLUSTER 'main'
(
    org        LowCardinality(String) CODEC(ZSTD(1)),
    at         DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    app        LowCardinality(String) CODEC(ZSTD(1)),
    request_id String CODEC(ZSTD(1)),
    operation  LowCardinality(String) CODEC(ZSTD(1)),
    method     LowCardinality(String) CODEC(ZSTD(1)),
    path       String CODEC(ZSTD(1)),
    status     UInt16 CODEC(ZSTD(1)),
    token_id   String CODEC(ZSTD(1)),
    token_kind LowCardinality(String) CODEC(ZSTD(1)),
    user_id    String CODEC(ZSTD(1)),
    detail     String CODEC(ZSTD(1))
)
ENGINE = ReplicatedMergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (org, at)
SETTINGS replicated_deduplication_window = 0, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS metric_points ON CLUSTER 'main'
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
ENGINE = ReplicatedMergeTree
PARTITION BY toYYYYMM(ts)
PRIMARY KEY (environment, name, ts)
ORDER BY (environment, name, ts, series)
TTL expires
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, min_bytes_for_wide_part = 268435456;

CREATE TABLE IF NOT EXISTS metric_series ON CLUSTER 'main'
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
ENGINE = ReplicatedAggregatingMergeTree
PRIMARY KEY (environment, name)
ORDER BY (environment, name, series)
TTL expires
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, index_granularity = 1024;

CREATE TABLE IF NOT EXISTS metric_seen ON CLUSTER 'main'
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

CREATE MATERIALIZED VIEW IF NOT EXISTS metric_series_of_seen ON CLUSTER 'main' TO metric_series AS
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

CREATE TABLE IF NOT EXISTS metric_rollups ON CLUSTER 'main'
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
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMM(slot)
ORDER BY (environment, name, series, slot)
TTL expires
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE MATERIALIZED VIEW IF NOT EXISTS metric_rollups_of_points ON CLUSTER 'main' TO metric_rollups AS
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

CREATE TABLE IF NOT EXISTS metric_totals ON CLUSTER 'main'
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
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMM(slot)
ORDER BY (environment, name, slot)
TTL expires
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, index_granularity = 1024;

CREATE MATERIALIZED VIEW IF NOT EXISTS metric_totals_of_points ON CLUSTER 'main' TO metric_totals AS
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

CREATE TABLE IF NOT EXISTS installation ON CLUSTER 'main'
(
    name    String,
    edition UInt32,
    at      DateTime64(6, 'UTC') DEFAULT now64(6),
    value   String
)
ENGINE = ReplicatedMergeTree
ORDER BY (name, edition, at)
SETTINGS replicated_deduplication_window = 0, replicated_deduplication_window_seconds = 604800, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS audit_rows ON CLUSTER 'main'
(
    org        LowCardinality(String) CODEC(ZSTD(1)),
    at         DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    id         String CODEC(ZSTD(1)),
    app        LowCardinality(String) CODEC(ZSTD(1)),
    request_id String CODEC(ZSTD(1)),
    operation  LowCardinality(String) CODEC(ZSTD(1)),
    method     LowCardinality(String) CODEC(ZSTD(1)),
    path       String CODEC(ZSTD(1)),
    status     UInt16 CODEC(ZSTD(1)),
    token_id   String CODEC(ZSTD(1)),
    token_kind LowCardinality(String) CODEC(ZSTD(1)),
    user_id    String CODEC(ZSTD(1)),
    detail     String CODEC(ZSTD(1))
)
ENGINE = ReplicatedReplacingMergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (org, at, id)
SETTINGS replicated_deduplication_window = 0, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS audit ON CLUSTER 'main' AS audit_rows;

INSERT INTO audit_rows
SELECT org, at, if(id = '', concat('request ', request_id, ' ', operation), id), app, request_id, operation, method, path, status, token_id, token_kind, user_id, detail
FROM audit
SETTINGS max_partitions_per_insert_block = 0;

DROP TABLE IF EXISTS audit ON CLUSTER 'main';

ALTER TABLE checks ON CLUSTER 'main'
    ADD PROJECTION IF NOT EXISTS hours
    (
        SELECT app, monitor, toStartOfHour(at), count(), countIf(status != 'down')
        GROUP BY app, monitor, toStartOfHour(at)
    ),
    ADD PROJECTION IF NOT EXISTS latest
    (
        SELECT app, monitor, max(at), argMax(status, at), argMax(failures, at), argMax(error, at), argMax(total, at)
        GROUP BY app, monitor
    );

DROP VIEW IF EXISTS uptime_of_checks ON CLUSTER 'main';

DROP VIEW IF EXISTS latest_checks_of_checks ON CLUSTER 'main';

CREATE OR REPLACE VIEW uptime ON CLUSTER 'main' AS
SELECT app, monitor, toStartOfHour(at) AS hour, count() AS checks, countIf(status != 'down') AS up
FROM checks
GROUP BY app, monitor, hour;

CREATE OR REPLACE VIEW latest_checks ON CLUSTER 'main' AS
SELECT
    app,
    monitor,
    max(checks.at) AS at,
    argMax(checks.status, checks.at) AS status,
    argMax(checks.failures, checks.at) AS failures,
    argMax(checks.error, checks.at) AS error,
    argMax(checks.total, checks.at) AS total
FROM checks
GROUP BY app, monitor;

ALTER TABLE checks ON CLUSTER 'main' MATERIALIZE PROJECTION hours;

ALTER TABLE checks ON CLUSTER 'main' MATERIALIZE PROJECTION latest;

