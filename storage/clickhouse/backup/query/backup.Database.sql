-- How many tables a database has; 0 where there is none. Key: none, one row for each table.
SELECT count()
FROM system.tables
WHERE database = {database:String}
