-- Records of the journal that no table accepts, with the reason. Only the operator reads them.
CREATE TABLE IF NOT EXISTS refused_records
(
    at     DateTime64(3, 'UTC') DEFAULT now64(3) CODEC(ZSTD(1)),
    key    String CODEC(ZSTD(1)),
    record String CODEC(ZSTD(1)),
    reason String CODEC(ZSTD(1))
)
ENGINE = MergeTree
ORDER BY (at, key)
SETTINGS non_replicated_deduplication_window = 0;
