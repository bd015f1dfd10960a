-- Source maps of applications. A map has a row for each key that may find it. The newest upload of a key counts.
CREATE TABLE IF NOT EXISTS source_maps
(
    app     String CODEC(ZSTD(1)),
    key     String CODEC(ZSTD(1)),
    at      DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    content String CODEC(ZSTD(3))
)
ENGINE = ReplacingMergeTree(at)
ORDER BY (app, key)
SETTINGS index_granularity = 64, non_replicated_deduplication_window = 0;

-- Chunks of uploads by the SHA-1 of their content, until the upload is assembled.
CREATE TABLE IF NOT EXISTS upload_chunks
(
    org     String CODEC(ZSTD(1)),
    sha1    String CODEC(ZSTD(1)),
    at      DateTime CODEC(Delta, ZSTD(1)),
    content String CODEC(NONE)
)
ENGINE = ReplacingMergeTree(at)
ORDER BY (org, sha1)
TTL at + INTERVAL 1 DAY
SETTINGS index_granularity = 16, non_replicated_deduplication_window = 0;
