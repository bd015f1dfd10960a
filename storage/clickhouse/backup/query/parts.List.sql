-- The parts of the tables as they are, but for those of files that are being made, which are dropped with their files, and of what is kept of people, which is made
-- again. Key: none, one row for each part.
SELECT p.table, toString(t.uuid), p.name, p.rows, p.delete_ttl_info_max
FROM system.parts AS p
INNER JOIN system.tables AS t ON t.database = p.database AND t.name = p.table
WHERE p.database = currentDatabase() AND p.active AND p.table NOT IN ('export_rows', 'person_folds')
