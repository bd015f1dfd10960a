-- The known ids that share an anonymous id, each once. Key: that of persons.Behind. Rows returned: at most limit.
SELECT DISTINCT behind
FROM ($(persons.Behind))
LIMIT {limit:UInt32}
