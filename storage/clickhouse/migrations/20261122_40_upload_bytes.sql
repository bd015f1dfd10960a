-- Chunks are compressed, and their bytes count until the upload is assembled. A released chunk has a newer row without
-- content. The bytes of source maps count from this migration on.
ALTER TABLE upload_chunks MODIFY COLUMN content String CODEC(ZSTD(1));
ALTER TABLE upload_chunks ADD COLUMN IF NOT EXISTS bytes UInt64 CODEC(ZSTD(1));
ALTER TABLE upload_chunks ADD COLUMN IF NOT EXISTS released Bool CODEC(ZSTD(1));
ALTER TABLE source_maps ADD COLUMN IF NOT EXISTS bytes UInt64 CODEC(ZSTD(1));
