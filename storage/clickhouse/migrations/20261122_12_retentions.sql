-- For how many days the rows of an environment are kept, where that was ever changed. The newest row
-- of an environment holds.
CREATE TABLE IF NOT EXISTS retentions
(
    environment UInt64 CODEC(ZSTD(1)),
    days        UInt32 CODEC(ZSTD(1)),
    at          DateTime64(3, 'UTC') CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(at)
ORDER BY environment
SETTINGS non_replicated_deduplication_window = 0;
