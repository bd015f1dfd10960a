-- The retention of an environment in days, if it was ever changed. The newest row of an environment counts.
CREATE TABLE IF NOT EXISTS retentions
(
    environment UInt64 CODEC(ZSTD(1)),
    days        UInt32 CODEC(ZSTD(1)),
    at          DateTime64(3, 'UTC') CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(at)
ORDER BY environment
SETTINGS non_replicated_deduplication_window = 0;
