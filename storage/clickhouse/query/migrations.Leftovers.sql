-- Tables and views that were to replace others when their statement was interrupted. Key: none. Rows read: none of a table; returned: one for
-- each.
SELECT name
FROM system.tables
WHERE database = currentDatabase() AND startsWith(name, '_tmp_replace_')
