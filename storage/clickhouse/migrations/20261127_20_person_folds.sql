-- People as folded at some time, so lists and counts of many people need not fold them again. The copy of an
-- environment on a node has a number and its own partition. Reads use it for at most an hour, while the parts of the
-- tables show which people changed since then. Each column is the result of the fold of the same facts. Texts that
-- people gave begin with the time of their event in 14 digits. ids has the ids of all visitors of a person. words has
-- these ids, the address, the name and the company, with a zero byte between them. done has the time at which the
-- person last did something, in seconds since the epoch. linked has the visitors that belong to this person only,
-- without the visitor that has the number of the person.
CREATE TABLE IF NOT EXISTS person_folds
(
    number       UInt64 CODEC(LZ4),
    person       UInt64 CODEC(LZ4),
    began        Int64 CODEC(LZ4),
    seen         UInt64 CODEC(T64, LZ4),
    last         Int64 CODEC(LZ4),
    sessions     UInt64 CODEC(T64, LZ4),
    ids          String CODEC(LZ4),
    told_email   String CODEC(LZ4),
    told_name    String CODEC(LZ4),
    told_company String CODEC(LZ4),
    told_group   String CODEC(LZ4),
    identified   UInt8 CODEC(LZ4),
    mailed       UInt8 CODEC(LZ4),
    signed_up    UInt8 CODEC(LZ4),
    activated    UInt8 CODEC(LZ4),
    traits       Map(String, String) CODEC(LZ4),
    once         Map(String, String) CODEC(LZ4),
    done         Map(String, Int64) CODEC(LZ4),
    first_source String CODEC(LZ4),
    first_at     Int64 CODEC(LZ4),
    country      LowCardinality(String) CODEC(LZ4),
    device       LowCardinality(String) CODEC(LZ4),
    placed_at    Int64 CODEC(LZ4),
    linked       Array(UInt64) CODEC(LZ4),
    words        String MATERIALIZED concat(ids, '\0', substring(told_email, 15), '\0', substring(told_name, 15), '\0', substring(told_company, 15)) CODEC(LZ4),
    made         DateTime DEFAULT now() CODEC(LZ4)
)
ENGINE = MergeTree
PARTITION BY number
ORDER BY person
TTL made + INTERVAL 2 HOUR
SETTINGS non_replicated_deduplication_window = 0, ttl_only_drop_parts = 1, merge_with_ttl_timeout = 600, map_serialization_version = 'with_buckets',
    map_serialization_version_for_zero_level_parts = 'with_buckets', map_buckets_strategy = 'constant', max_buckets_in_map = 8, map_buckets_min_avg_size = 0;
