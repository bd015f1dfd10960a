-- The visitors of persons.Sharing, and the ids that members removed from persons from a time on. Key: environment of
-- links, roots and splits. Rows read: the rows of persons.Sharing. Part of other queries.
SELECT visitor FROM splits WHERE environment = {environment:UInt64} AND late != 0
UNION ALL
SELECT visitor FROM ($(persons.Sharing))
