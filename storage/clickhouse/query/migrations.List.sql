-- The names of the migrations that were applied. Reads the whole table, a few rows.
SELECT name
FROM migrations
GROUP BY name
