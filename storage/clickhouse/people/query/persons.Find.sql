-- The person of a visitor, as of the end of its spans. Key: environment of links and roots. Rows
-- returned: none where it is a person by itself.
SELECT spans[-1].2
FROM ($(persons.Links))
WHERE visitor = {visitor:UInt64}
