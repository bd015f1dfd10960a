-- The files with stored lines, and the time of the last stored line. Key: none; rows read: one per part.
SELECT DISTINCT extract(partition, '[0-9A-Za-z_]+') AS file, max(modification_time) OVER (PARTITION BY partition) AS modified
FROM system.parts
WHERE database = currentDatabase() AND table = 'export_rows' AND active
