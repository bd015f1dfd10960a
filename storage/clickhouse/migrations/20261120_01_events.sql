-- Every accepted event, once. One insert is one block of the intake, and insert_deduplication_token identifies it. The
-- feed and filtered reads use this table.
CREATE TABLE IF NOT EXISTS events
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
ENGINE = MergeTree
PARTITION BY toYYYYMM(ts)
PRIMARY KEY (environment, ts)
ORDER BY (environment, ts, id)
TTL expires
-- A wide part has about 150 files, and creating them costs more than writing their bytes. Parts up to the size of one
-- insert therefore stay compact, and merged parts become wide.
SETTINGS non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 268435456;

-- Sums per quarter of an hour, the finest step between the midnights of all time zones. Page views and events count in
-- the slot of the event. Bounces and durations count in the slot in which the session began.
CREATE TABLE IF NOT EXISTS traffic
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
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(slot)
ORDER BY (environment, slot, is_bot)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS traffic_of_events TO traffic AS
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

-- The visitors and sessions that were active in a slot, with the number of their events. Visitors and sessions are
-- 64-bit hashes, and the hash of a session includes its visitor. The events show a reader which state of traffic a
-- read of this table belongs to.
CREATE TABLE IF NOT EXISTS visits
(
    environment UInt64 CODEC(ZSTD(1)),
    slot        DateTime('UTC') CODEC(Delta, ZSTD(1)),
    is_bot      Bool CODEC(ZSTD(1)),
    visitor     UInt64 CODEC(Delta, ZSTD(1)),
    session     UInt64 CODEC(ZSTD(1)),
    events      SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1)),
    expires     SimpleAggregateFunction(max, Date) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(slot)
PRIMARY KEY (environment, slot)
ORDER BY (environment, slot, is_bot, visitor, session)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS visits_of_events TO visits AS
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

-- The number of events by visitor, name and slot.
CREATE TABLE IF NOT EXISTS names
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
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(slot)
PRIMARY KEY (environment, slot)
ORDER BY (environment, slot, is_bot, name, visitor)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS names_of_events TO names AS
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
