-- The spans of some visitors that are no persons by themselves. Key: environment of links and roots. Rows
-- returned: at most one per visitor.
SELECT visitor, arrayMap(span -> span.1, spans) AS since, arrayMap(span -> span.2, spans) AS persons
FROM ($(persons.Links))
WHERE has({visitors:Array(UInt64)}, visitor)
