-- Whether there is a journal of an earlier version: one row, 1 or 0. Key: database, name.
SELECT count()
FROM system.tables
WHERE database = currentDatabase() AND name = 'journal'
