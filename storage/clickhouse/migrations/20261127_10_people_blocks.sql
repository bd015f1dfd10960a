-- Reads decompress at least one compressed block. By default, a block has 64 KiB of a column, which is sixty granules
-- of these tables, so a page of people decompressed sixty times the data that it needed. Blocks of 4 KiB end with
-- nearly each granule. Maps of traits are stored in four buckets instead of sixteen. Each bucket adds some files to
-- the reads of a page, and a condition on one trait reads a quarter of the maps.
ALTER TABLE traits MODIFY SETTING min_compress_block_size = 4096, max_buckets_in_map = 4;

OPTIMIZE TABLE traits FINAL;

ALTER TABLE arrivals MODIFY SETTING min_compress_block_size = 4096;

OPTIMIZE TABLE arrivals FINAL;

ALTER TABLE profiles MODIFY SETTING min_compress_block_size = 4096;

OPTIMIZE TABLE profiles FINAL;

ALTER TABLE links MODIFY SETTING min_compress_block_size = 4096;

OPTIMIZE TABLE links FINAL;
