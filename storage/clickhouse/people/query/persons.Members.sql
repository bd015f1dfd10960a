-- The visitors that belong to some persons, with their spans, and the visitors of the same numbers that belong to
-- others: a number that stands for a person may be that of a visitor who was linked to another one. Key: environment of links and roots.
-- Rows returned: one per visitor that is no person by itself.
SELECT visitor, arrayMap(span -> span.1, spans) AS since, arrayMap(span -> span.2, spans) AS persons
FROM ($(persons.Links))
WHERE hasAny(arrayMap(span -> span.2, spans), {persons:Array(UInt64)}) OR has({persons:Array(UInt64)}, visitor)
