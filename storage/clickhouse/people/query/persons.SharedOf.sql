-- Those among some visitors whom several persons used, with their spans. Key: that of persons.LinksOf. Part of other queries.
SELECT visitor, spans
FROM ($(persons.LinksOf))
WHERE length(spans) > 1
