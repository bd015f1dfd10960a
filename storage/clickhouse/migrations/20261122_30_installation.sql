-- Facts about the whole installation: the identity of the data set, the key that sealed its secrets, and whether the
-- secrets of its first start were shown. The row with the highest edition of a fact counts. Among several rows with
-- this edition, the oldest one counts, so nodes that write a fact at the same time agree.
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
