-- The databases of snapshots that a process left behind. Key: none, one row for each database.
SELECT name
FROM system.databases
WHERE startsWith(name, concat(currentDatabase(), '_backup_'))
