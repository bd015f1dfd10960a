-- Inserts are acknowledged after an fsync of the part and of its folder. In either case merges end with an fsync,
-- which detects errors of the disk before the merged parts count.
ALTER TABLE $(table) MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
