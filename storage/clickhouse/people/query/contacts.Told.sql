-- The contact traits that visitors set. Key: environment, visitor. Rows returned: one per visitor with any trait.
SELECT
    visitor, max(identified), max(email), max(name),
    maxMap(mapFilter((k, v) -> k IN {phones:Array(String)}, traits)), minMap(mapFilter((k, v) -> k IN {phones:Array(String)}, once))
FROM traits
WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
GROUP BY visitor
SETTINGS compile_expressions = 0, compile_aggregate_expressions = 0, compile_sort_description = 0
