-- The results of the items that environments sent, by the UTC day of their arrival. The counts of a block are inserted
-- under its token, so they are stored once, like its rows. items may be less than 0 if items moved from one count to
-- another.
CREATE TABLE IF NOT EXISTS usage
(
    environment UInt64 CODEC(ZSTD(1)),
    day         Date CODEC(ZSTD(1)),
    signal      LowCardinality(String) CODEC(ZSTD(1)),
    fate        LowCardinality(String) CODEC(ZSTD(1)),
    code        LowCardinality(String) CODEC(ZSTD(1)),
    items       SimpleAggregateFunction(sum, Int64) CODEC(ZSTD(1)),
    bytes       SimpleAggregateFunction(sum, Int64) CODEC(ZSTD(1)),
    last        SimpleAggregateFunction(max, DateTime64(3, 'UTC')) CODEC(ZSTD(1)),
    expires     SimpleAggregateFunction(max, Date) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (environment, day, signal, fate, code)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024;

-- The tallies that passed through the log. A tally is a group of counts of items that are not in the log, with a
-- number from its source. A new owner of a partition reads the last numbers back and recognises repeated tallies by
-- them.
CREATE TABLE IF NOT EXISTS tallies
(
    source  LowCardinality(String) CODEC(ZSTD(1)),
    seq     UInt64 CODEC(ZSTD(1)),
    at      DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    block   UInt64 CODEC(ZSTD(1)),
    expires Date CODEC(ZSTD(1))
)
ENGINE = MergeTree
ORDER BY (source, seq)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024;
