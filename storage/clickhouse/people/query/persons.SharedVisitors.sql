-- The visitors that more than one person used. Key: environment of links and roots. Part of other queries.
SELECT visitor
FROM ($(persons.Shared))
