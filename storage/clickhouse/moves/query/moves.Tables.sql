-- The tables with rows that belong to environments. Key: database.
SELECT c.table
FROM system.columns AS c
INNER JOIN system.tables AS t ON t.database = c.database AND t.name = c.table
WHERE c.database = currentDatabase() AND c.name = 'environment' AND c.type = 'UInt64' AND endsWith(t.engine, 'MergeTree')
ORDER BY c.table
