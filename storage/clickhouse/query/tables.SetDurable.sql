-- Inserts are acknowledged after an fsync of the part and of its folder.
ALTER TABLE events MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;
ALTER TABLE traffic MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;
ALTER TABLE visits MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;
ALTER TABLE names MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;
ALTER TABLE event_counts MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;
ALTER TABLE newcomers MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;
ALTER TABLE entities MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;
ALTER TABLE wakeups MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;
ALTER TABLE audit MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;
ALTER TABLE ledger MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;
