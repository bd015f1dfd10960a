-- Some of the visitors that a question may be about. Key: that of the candidates. Rows returned: at most limit.
SELECT visitor
FROM ($(candidates))
LIMIT {limit:UInt32}
