-- Some of persons.Sharing. Rows returned: at most limit.
SELECT visitor
FROM ($(persons.Sharing))
LIMIT {limit:UInt32}
