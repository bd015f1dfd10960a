-- Some rows of persons.AnySharing. Key: environment of links, roots and splits. Rows read: the rows of
-- persons.AnySharing; returned: at most limit.
SELECT DISTINCT visitor
FROM ($(persons.AnySharing))
LIMIT {limit:UInt32}
