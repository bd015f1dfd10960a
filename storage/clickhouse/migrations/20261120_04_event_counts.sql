-- How often which name occurred per slot, page views by path: what goals match, whoever the
-- visitor was. The path of other events is empty.
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

-- What was stored before. The view is made last, so that nothing counts twice where this
-- migration is repeated; while it runs, no other node may store events.
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
