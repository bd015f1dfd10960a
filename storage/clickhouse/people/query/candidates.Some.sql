-- Some of the candidates. Key: the key of the candidates. Rows returned: at most limit.
SELECT visitor
FROM ($(candidates))
LIMIT {limit:UInt32}
