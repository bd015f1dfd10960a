-- Recipients of campaigns: the audience at the time when the sending began. Pages that no campaign recorded, for
-- example after a crash, do not count. batch distinguishes them.
CREATE TABLE IF NOT EXISTS campaign_recipients
(
    environment UInt64 CODEC(ZSTD(1)),
    campaign    LowCardinality(String) CODEC(ZSTD(1)),
    number      UInt32 CODEC(Delta, ZSTD(1)),
    batch       UInt64 CODEC(ZSTD(1)),
    started     DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    visitor     UInt64 CODEC(ZSTD(1)),
    address     String CODEC(ZSTD(1)),
    hash        UInt64 CODEC(ZSTD(1)),
    name        String CODEC(ZSTD(1)),
    expires     Date CODEC(ZSTD(1))
)
ENGINE = MergeTree
ORDER BY (environment, campaign, number)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024;

-- The outcomes for the recipients of campaigns.
CREATE TABLE IF NOT EXISTS campaign_outcomes
(
    environment UInt64 CODEC(ZSTD(1)),
    visitor     UInt64 CODEC(ZSTD(1)),
    campaign    LowCardinality(String) CODEC(ZSTD(1)),
    title       LowCardinality(String) CODEC(ZSTD(1)),
    number      UInt32 CODEC(ZSTD(1)),
    started     DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    at          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    fate        LowCardinality(String) CODEC(ZSTD(1)),
    detail      String CODEC(ZSTD(1)),
    expires     Date CODEC(ZSTD(1))
)
ENGINE = MergeTree
ORDER BY (environment, visitor, campaign, number)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024;
