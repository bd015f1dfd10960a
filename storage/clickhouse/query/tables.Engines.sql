-- The tables that keep rows, with the definitions of their engines, which end with their settings. Key: none. Rows
-- read: none of a table; returned: one for each.
SELECT name, engine_full
FROM system.tables
WHERE database = currentDatabase() AND engine LIKE '%MergeTree'
ORDER BY name
