-- To whom some visitors belong that are no persons by themselves, with their spans. Key: that of persons.LinksOf. Rows
-- returned: at most one per visitor.
SELECT visitor, arrayMap(span -> span.1, spans) AS since, arrayMap(span -> span.2, spans) AS persons
FROM ($(persons.LinksOf))
SETTINGS compile_expressions = 0, compile_aggregate_expressions = 0, compile_sort_description = 0
