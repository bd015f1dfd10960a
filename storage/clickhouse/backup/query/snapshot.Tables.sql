-- The tables of the service, with the statements that create them. Key: none, one row for each table.
SELECT name, engine, create_table_query
FROM system.tables
WHERE database = currentDatabase()
ORDER BY engine = 'MaterializedView', name
