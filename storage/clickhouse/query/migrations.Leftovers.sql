-- Tables and views that an interrupted statement created to replace others. Key: none. Rows read: no rows of tables;
-- returned: one for each.
SELECT name
FROM system.tables
WHERE database = currentDatabase() AND startsWith(name, '_tmp_replace_')
