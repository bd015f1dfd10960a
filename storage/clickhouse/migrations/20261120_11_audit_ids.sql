-- The id of an audit row. A crash may store a row twice, under the same id.
ALTER TABLE audit ADD COLUMN IF NOT EXISTS id String CODEC(ZSTD(1)) AFTER at;
