-- Every management write, for ever. A row may be inserted twice after a crash between the tables and the journal, or
-- by two nodes that settle the journal at the same time. Merges of parts and reads with FINAL reduce rows of the same
-- id to one.
CREATE TABLE IF NOT EXISTS audit_rows
(
    org        LowCardinality(String) CODEC(ZSTD(1)),
    at         DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    id         String CODEC(ZSTD(1)),
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
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (org, at, id)
SETTINGS non_replicated_deduplication_window = 0;

-- The old table may be missing if this migration was interrupted.
CREATE TABLE IF NOT EXISTS audit AS audit_rows;

-- Rows without an id get an id from their request.
INSERT INTO audit_rows
SELECT org, at, if(id = '', concat('request ', request_id, ' ', operation), id), app, request_id, operation, method, path, status, token_id, token_kind, user_id, detail
FROM audit
SETTINGS max_partitions_per_insert_block = 0;

DROP TABLE IF EXISTS audit;
