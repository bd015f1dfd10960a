-- To whom some visitors belong that are no persons by themselves, with their spans. Key: that of persons.LinksOf. Rows
-- returned: at most one per visitor.
SELECT visitor, arrayMap(span -> span.1, spans) AS since, arrayMap(span -> span.2, spans) AS persons
FROM ($(persons.LinksOf))
