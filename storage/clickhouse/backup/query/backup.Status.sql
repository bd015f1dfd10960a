-- The progress of a copy. Key: none, one row for each backup since the start of the store.
SELECT toString(status), error
FROM system.backups
WHERE id = {id:String}
