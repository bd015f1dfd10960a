-- Facts about the whole installation: which data set this is, which key sealed its secrets,
-- whether the secrets of its first start were shown. Of one fact the row of the highest
-- edition stands, of equal ones the oldest, so nodes that note one together agree.
CREATE TABLE IF NOT EXISTS installation
(
    name    String,
    edition UInt32,
    at      DateTime64(6, 'UTC') DEFAULT now64(6),
    value   String
)
ENGINE = MergeTree
ORDER BY (name, edition, at)
SETTINGS non_replicated_deduplication_window = 0, fsync_after_insert = 1, fsync_part_directory = 1;
