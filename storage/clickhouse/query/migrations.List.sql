-- The names of the applied migrations. Reads the whole table, a few rows.
SELECT name
FROM migrations
GROUP BY name
