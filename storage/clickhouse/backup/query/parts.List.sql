-- The current parts of the tables. It omits the parts of export files, which are dropped with their files, and the
-- parts of folded people, which can be computed again. Key: none, one row for each part.
SELECT p.table, toString(t.uuid), p.name, p.rows, p.delete_ttl_info_max
FROM system.parts AS p
INNER JOIN system.tables AS t ON t.database = p.database AND t.name = p.table
WHERE p.database = currentDatabase() AND p.active AND p.table NOT IN ('export_rows', 'person_folds')
