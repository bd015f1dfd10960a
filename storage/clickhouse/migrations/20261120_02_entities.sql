-- The entities of actors. The row with the highest version of a key is the current one. Deleted rows stay, so an older
-- write that arrives late cannot restore an entity.
CREATE TABLE IF NOT EXISTS entities
(
    owner   String CODEC(ZSTD(1)),
    kind    LowCardinality(String) CODEC(ZSTD(1)),
    id      String CODEC(ZSTD(1)),
    version UInt64 CODEC(ZSTD(1)),
    deleted Bool CODEC(ZSTD(1)),
    payload String CODEC(ZSTD(1)),
    INDEX kinds kind TYPE set(100) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (owner, kind, id)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 0;

-- The times at which actors want to be called. The row with the highest version is the current one.
CREATE TABLE IF NOT EXISTS wakeups
(
    kind     LowCardinality(String) CODEC(ZSTD(1)),
    identity String CODEC(ZSTD(1)),
    name     LowCardinality(String) CODEC(ZSTD(1)),
    due      DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    version  UInt64 CODEC(ZSTD(1)),
    deleted  Bool CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (kind, identity, name)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 0;

-- Every management write, for ever.
CREATE TABLE IF NOT EXISTS audit
(
    org        LowCardinality(String) CODEC(ZSTD(1)),
    at         DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    app        LowCardinality(String) CODEC(ZSTD(1)),
    request_id String CODEC(ZSTD(1)),
    operation  LowCardinality(String) CODEC(ZSTD(1)),
    method     LowCardinality(String) CODEC(ZSTD(1)),
    path       String CODEC(ZSTD(1)),
    status     UInt16 CODEC(ZSTD(1)),
    token_id   String CODEC(ZSTD(1)),
    token_kind LowCardinality(String) CODEC(ZSTD(1)),
    user_id    String CODEC(ZSTD(1)),
    detail     String CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (org, at)
SETTINGS non_replicated_deduplication_window = 0;
