-- The tables with rows that belong to environments or applications, except the audit tables, with the column that
-- identifies them. Key: database.
SELECT c.table, c.name
FROM system.columns AS c
INNER JOIN system.tables AS t ON t.database = c.database AND t.name = c.table
WHERE c.database = currentDatabase() AND endsWith(t.engine, 'MergeTree') AND NOT startsWith(c.table, 'audit')
    AND (c.name = 'environment' AND c.type = 'UInt64' OR c.name = 'app' AND c.type IN ('String', 'LowCardinality(String)'))
ORDER BY c.table, c.name
