-- The number of tables of a database, 0 if it does not exist. Key: none, one row for each table.
SELECT count()
FROM system.tables
WHERE database = {database:String}
