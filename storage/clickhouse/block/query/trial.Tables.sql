-- The tables and views of the database with their CREATE statements and the views that read each. Key: database. Rows:
-- one per table.
SELECT name, engine, create_table_query, dependencies_table
FROM system.tables
WHERE database = {database:String}
