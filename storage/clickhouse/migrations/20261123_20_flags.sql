-- The number of times that flags served their variants, by UTC day.
CREATE TABLE IF NOT EXISTS flag_counts
(
    environment UInt64 CODEC(LZ4),
    flag        LowCardinality(String) CODEC(LZ4),
    variant     LowCardinality(String) CODEC(LZ4),
    day         Date CODEC(LZ4),
    count       UInt64 CODEC(T64, LZ4)
)
ENGINE = SummingMergeTree(count)
ORDER BY (environment, flag, variant, day)
TTL day + INTERVAL 400 DAY
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024;

-- The time at which a visitor first got a variant.
CREATE TABLE IF NOT EXISTS flag_exposures
(
    environment UInt64 CODEC(LZ4),
    flag        LowCardinality(String) CODEC(LZ4),
    visitor     UInt64 CODEC(LZ4),
    variant     LowCardinality(String) CODEC(LZ4),
    first       SimpleAggregateFunction(min, DateTime64(3, 'UTC')) CODEC(LZ4),
    expires     SimpleAggregateFunction(max, Date) CODEC(LZ4)
)
ENGINE = AggregatingMergeTree
ORDER BY (environment, flag, visitor, variant)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024;
