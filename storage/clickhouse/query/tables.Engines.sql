-- The tables with the definitions of their engines, which end with their settings. Reads no table; one row for each.
SELECT name, engine_full
FROM system.tables
WHERE database = currentDatabase()
