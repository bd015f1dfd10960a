-- The tables that keep rows, with the definitions of their engines, which end with their settings. What another node's
-- migration is about to replace a table by is gone when it has. Key: none. Rows read: none of a table; returned: one for
-- each.
SELECT name, engine_full
FROM system.tables
WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND NOT startsWith(name, '_tmp_replace_')
ORDER BY name
