-- Items that were accepted but could not be folded or stored, in the accepted form, for 30 days. The row with the
-- highest version is the current one. The version is 0 while the letter waits and higher after it was replayed or
-- dropped.
CREATE TABLE IF NOT EXISTS dead_letters
(
    id          String CODEC(ZSTD(1)),
    environment UInt64 CODEC(ZSTD(1)),
    kind        LowCardinality(String) CODEC(ZSTD(1)),
    partition   UInt32 CODEC(ZSTD(1)),
    at          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    reason      String CODEC(ZSTD(1)),
    payload     String CODEC(ZSTD(1)),
    ended       LowCardinality(String) CODEC(ZSTD(1)),
    version     UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (environment, id)
TTL toDate(at) + INTERVAL 30 DAY
SETTINGS index_granularity = 1024;
