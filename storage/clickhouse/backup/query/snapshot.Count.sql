-- The number of stored rows of every table of a database. Key: none, one row for each part.
SELECT table, sum(rows)
FROM system.parts
WHERE database = {database:String} AND active
GROUP BY table
