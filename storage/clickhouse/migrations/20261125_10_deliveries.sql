-- Deliveries of conversions to destinations, after their latest attempt. The row of a later attempt replaces the
-- previous one. payload is the data to replay a parked delivery from.
CREATE TABLE IF NOT EXISTS deliveries
(
    app          LowCardinality(String) CODEC(ZSTD(1)),
    destination  LowCardinality(String) CODEC(ZSTD(1)),
    created      DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    id           String CODEC(ZSTD(1)),
    at           DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    environment  UInt64 CODEC(ZSTD(1)),
    visitor      UInt64 CODEC(ZSTD(1)),
    event_id     String CODEC(ZSTD(1)),
    event        LowCardinality(String) CODEC(ZSTD(1)),
    source_event LowCardinality(String) CODEC(ZSTD(1)),
    status       LowCardinality(String) CODEC(ZSTD(1)),
    attempts     UInt16 CODEC(ZSTD(1)),
    next         DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    code         UInt16 CODEC(ZSTD(1)),
    latency      UInt32 CODEC(ZSTD(1)),
    test         Bool CODEC(ZSTD(1)),
    error        String CODEC(ZSTD(1)),
    request      String CODEC(ZSTD(1)),
    response     String CODEC(ZSTD(1)),
    payload      String CODEC(ZSTD(1)) TTL toDateTime(at) + INTERVAL 7 DAY,
    expires      Date CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(at)
ORDER BY (app, destination, created, id)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024;
