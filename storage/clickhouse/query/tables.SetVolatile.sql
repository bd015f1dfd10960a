-- Inserts are acknowledged before the operating system has written them to disk. Merges end with an fsync, which
-- detects errors of the disk before the merged parts count.
ALTER TABLE $(table) MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1
