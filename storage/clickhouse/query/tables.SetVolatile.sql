-- Inserts are acknowledged before the operating system wrote them to disk.
ALTER TABLE events MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0;
ALTER TABLE traffic MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0;
ALTER TABLE visits MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0;
ALTER TABLE names MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0;
ALTER TABLE event_counts MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0;
ALTER TABLE newcomers MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0;
ALTER TABLE entities MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0;
ALTER TABLE wakeups MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0;
ALTER TABLE audit MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0;
ALTER TABLE ledger MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0;
