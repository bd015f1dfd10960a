-- Ledgers of organizations, for ever. An entry is written once. If two owners wrote the same sequence number, the
-- entry of the later generation counts.
CREATE TABLE IF NOT EXISTS ledger
(
    org      String CODEC(ZSTD(1)),
    sequence UInt64 CODEC(Delta, ZSTD(1)),
    version  UInt64 CODEC(ZSTD(1)),
    kind     LowCardinality(String) CODEC(ZSTD(1)),
    entry    String CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (org, sequence)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 0;
