-- The tables with rows, with the definitions of their engines, which end with their settings. The query omits
-- temporary tables of another node's migration, which disappear after the replacement. Key: none. Rows read: no rows
-- of tables; returned: one for each.
SELECT name, engine_full
FROM system.tables
WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND NOT startsWith(name, '_tmp_replace_')
ORDER BY name
