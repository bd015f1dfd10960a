-- The tables of a database that have parts. Key: none, one row for each table.
SELECT name
FROM system.tables
WHERE database = {database:String} AND endsWith(engine, 'MergeTree')
ORDER BY name
