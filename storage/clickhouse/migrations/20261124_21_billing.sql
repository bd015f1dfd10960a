-- The items that billing systems sent: states of subscriptions, payments, refunds and currency rates. Of several items
-- with the same key, the one with the highest rank counts. A ledger needs the whole history, so nothing expires.
CREATE TABLE IF NOT EXISTS billing
(
    environment  UInt64 CODEC(ZSTD(1)),
    kind         LowCardinality(String) CODEC(ZSTD(1)),
    subject      String CODEC(ZSTD(1)),
    id           String CODEC(ZSTD(1)),
    ts           DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    received_at  DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    seq          UInt32 CODEC(ZSTD(1)),
    customer     String CODEC(ZSTD(1)),
    plan         LowCardinality(String) CODEC(ZSTD(1)),
    status       LowCardinality(String) CODEC(ZSTD(1)),
    currency     LowCardinality(String) CODEC(ZSTD(1)),
    cents        Int64 CODEC(ZSTD(1)),
    change_ms    Array(UInt64) CODEC(ZSTD(1)),
    change_cents Array(UInt64) CODEC(ZSTD(1)),
    trial_end    Int64 CODEC(ZSTD(1)),
    ended        Int64 CODEC(ZSTD(1)),
    target       LowCardinality(String) CODEC(ZSTD(1)),
    rate         Int64 CODEC(ZSTD(1)),
    rank         UInt64 CODEC(ZSTD(1)),
    block        UInt64 CODEC(ZSTD(1)),
    INDEX customers customer TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(rank)
ORDER BY (environment, kind, subject, id)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024;
