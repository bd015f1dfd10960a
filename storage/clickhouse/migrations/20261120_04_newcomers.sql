-- The time at which each visitor was first seen, with bots and others apart. A row lives as long as any event of its
-- visitor, so a visitor who returns within the retention does not count as new.
CREATE TABLE IF NOT EXISTS newcomers
(
    environment UInt64 CODEC(ZSTD(1)),
    is_bot      Bool CODEC(ZSTD(1)),
    visitor     UInt64 CODEC(Delta, ZSTD(1)),
    first_seen  SimpleAggregateFunction(min, DateTime64(3, 'UTC')) CODEC(ZSTD(1)),
    expires     SimpleAggregateFunction(max, Date) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (environment, is_bot, visitor)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS newcomers_of_events TO newcomers AS
SELECT
    environment,
    is_bot,
    cityHash64(if(distinct_id != '', distinct_id, anonymous_id)) AS visitor,
    min(ts) AS first_seen,
    max(expires) AS expires
FROM events
GROUP BY environment, is_bot, visitor;

-- Adds the visitors of events from before this table. Events may be folded twice without harm, because the columns are
-- minimums and maximums.
INSERT INTO newcomers
SELECT
    environment,
    is_bot,
    cityHash64(if(distinct_id != '', distinct_id, anonymous_id)) AS visitor,
    min(ts) AS first_seen,
    max(expires) AS expires
FROM events
GROUP BY environment, is_bot, visitor;
