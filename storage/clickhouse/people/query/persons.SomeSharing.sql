-- Some of persons.Sharing. Key: environment of links and roots. Rows read: those of persons.Sharing; returned: at most limit.
SELECT visitor
FROM ($(persons.Sharing))
LIMIT {limit:UInt32}
