-- What names the journal's folder. Key: database, name.
SELECT toString(uuid)
FROM system.tables
WHERE database = currentDatabase() AND name = 'journal'
