-- A block of compressed bytes is the least that is unpacked. By default it has 64 KiB of a column, which is sixty granules of these tables, so a
-- page of people unpacked sixty times what it read. Blocks of 4 KiB end with nearly each granule. Maps of traits are kept in four places instead
-- of sixteen: each place is some files more that a page reads, and a condition on one trait reads a quarter of them.
ALTER TABLE traits MODIFY SETTING min_compress_block_size = 4096, max_buckets_in_map = 4;

OPTIMIZE TABLE traits FINAL;

ALTER TABLE arrivals MODIFY SETTING min_compress_block_size = 4096;

OPTIMIZE TABLE arrivals FINAL;

ALTER TABLE profiles MODIFY SETTING min_compress_block_size = 4096;

OPTIMIZE TABLE profiles FINAL;

ALTER TABLE links MODIFY SETTING min_compress_block_size = 4096;

OPTIMIZE TABLE links FINAL;
