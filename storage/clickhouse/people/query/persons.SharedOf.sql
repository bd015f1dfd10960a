-- Those among some visitors whom several persons used, with their spans. Key: that of persons.Given. Part of other queries.
SELECT visitor, spans
FROM ($(persons.Given))
WHERE length(spans) > 1
