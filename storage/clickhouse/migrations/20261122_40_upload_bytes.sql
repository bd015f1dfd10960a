-- Pieces are compressed, and counted until they were put together: a piece that is released has
-- a newer row without content. Maps are counted from here on.
ALTER TABLE upload_chunks MODIFY COLUMN content String CODEC(ZSTD(1));
ALTER TABLE upload_chunks ADD COLUMN IF NOT EXISTS bytes UInt64 CODEC(ZSTD(1));
ALTER TABLE upload_chunks ADD COLUMN IF NOT EXISTS released Bool CODEC(ZSTD(1));
ALTER TABLE source_maps ADD COLUMN IF NOT EXISTS bytes UInt64 CODEC(ZSTD(1));
