-- Inserts are acknowledged before the operating system wrote them to disk. Merges
-- end with an fsync, which meets the errors of the disk before the merged parts count.
ALTER TABLE events MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE traffic MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE visits MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE names MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE event_counts MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE newcomers MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE entities MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE wakeups MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE audit_rows MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE ledger MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE occurrences MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE issues MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE issue_users MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE issue_releases MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE source_maps MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE metric_points MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE metric_series MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE metric_rollups MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE metric_totals MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE metric_hours MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
ALTER TABLE dead_letters MODIFY SETTING fsync_after_insert = 0, fsync_part_directory = 0, min_rows_to_fsync_after_merge = 1;
