-- Whether the store has the engine of the journal: one row, 1 or 0. Key: none.
SELECT count()
FROM system.table_engines
WHERE name = 'EmbeddedRocksDB'
