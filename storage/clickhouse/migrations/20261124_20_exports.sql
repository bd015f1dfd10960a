-- The rows of exports until their files are deleted. They are lines of JSON as callers see them, and masked if callers
-- see them masked. A file is an export and the number of its run. It has its own partition, so it is removed in one
-- step. Reads skip pieces that were not recorded as complete.
CREATE TABLE IF NOT EXISTS export_rows
(
    file     String CODEC(ZSTD(1)),
    piece    UInt64 CODEC(Delta, ZSTD(1)),
    position UInt32 CODEC(Delta, ZSTD(1)),
    line     String CODEC(ZSTD(1)),
    expires  DateTime CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY file
ORDER BY (file, piece, position)
TTL expires
SETTINGS non_replicated_deduplication_window = 0, index_granularity = 1024, ttl_only_drop_parts = 1;
