-- The number of events by name and slot, and of page views also by path. Goals use these counts because they match
-- events of any visitor. The path of other events is empty.
CREATE TABLE IF NOT EXISTS event_counts
(
    environment UInt64 CODEC(ZSTD(1)),
    name        LowCardinality(String) CODEC(ZSTD(1)),
    path        LowCardinality(String) CODEC(ZSTD(1)),
    slot        DateTime('UTC') CODEC(Delta, ZSTD(1)),
    is_bot      Bool CODEC(ZSTD(1)),
    events      SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1)),
    expires     SimpleAggregateFunction(max, Date) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(slot)
ORDER BY (environment, name, path, slot, is_bot)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000;

-- Adds the rows from before this migration. The view is created last, so nothing counts twice if the migration is
-- repeated. While it runs, no other node may store events.
TRUNCATE TABLE event_counts;

INSERT INTO event_counts
SELECT
    environment,
    name,
    if(name IN ('page_view', '$pageview'), path, '') AS path,
    toStartOfFifteenMinutes(ts) AS slot,
    is_bot,
    count() AS events,
    max(expires) AS expires
FROM events
GROUP BY environment, name, path, slot, is_bot;

CREATE MATERIALIZED VIEW IF NOT EXISTS event_counts_of_events TO event_counts AS
SELECT
    environment,
    name,
    if(name IN ('page_view', '$pageview'), path, '') AS path,
    toStartOfFifteenMinutes(ts) AS slot,
    is_bot,
    count() AS events,
    max(expires) AS expires
FROM events
GROUP BY environment, name, path, slot, is_bot;
