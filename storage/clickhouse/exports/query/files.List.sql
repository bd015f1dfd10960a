-- The files of which anything is stored, and when the last of it was. Key: none; rows read: one per part.
SELECT DISTINCT extract(partition, '[0-9A-Za-z_]+') AS file, max(modification_time) OVER (PARTITION BY partition) AS modified
FROM system.parts
WHERE database = currentDatabase() AND table = 'export_rows' AND active
