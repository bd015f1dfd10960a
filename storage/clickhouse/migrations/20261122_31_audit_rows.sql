-- Every management write, for ever. A crash between the tables and the journal, or two nodes that
-- settle it at once, bring a row again: rows of one id are one, here and in what is read with FINAL.
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

-- The table of before may be gone where this was interrupted.
CREATE TABLE IF NOT EXISTS audit AS audit_rows;

-- Rows from before they had ids are told apart by their request.
INSERT INTO audit_rows
SELECT org, at, if(id = '', concat('request ', request_id, ' ', operation), id), app, request_id, operation, method, path, status, token_id, token_kind, user_id, detail
FROM audit
SETTINGS max_partitions_per_insert_block = 0;

DROP TABLE IF EXISTS audit;
