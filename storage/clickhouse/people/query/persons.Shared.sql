-- The visitors that more than one person used, with their spans. Key: environment of links and roots.
-- Part of other queries.
SELECT visitor, spans
FROM ($(persons.Links))
WHERE length(spans) > 1
