-- The facts of the installation. Key: none, a table of a few rows.
SELECT name, argMax(value, (edition, -toUnixTimestamp64Micro(at), value)) AS value
FROM installation
GROUP BY name
