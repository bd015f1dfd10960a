-- The given visitors that several persons used, with their spans. Key: the key of persons.Given. Part of other
-- queries.
SELECT visitor, spans
FROM ($(persons.Given))
WHERE length(spans) > 1
