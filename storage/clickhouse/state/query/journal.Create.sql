-- What was written and is not in its tables yet. Every insert is appended to the write-ahead log of a key-value store, one
-- file for all of them; with bulk inserts each would make a file of its own.
CREATE TABLE IF NOT EXISTS journal
(
    key    String,
    record String
)
ENGINE = EmbeddedRocksDB
PRIMARY KEY key
SETTINGS optimize_for_bulk_insert = 0
