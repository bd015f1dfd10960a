-- The ids that lead to persons who may have nothing but a part of the events of a shared device: known ids that share an anonymous id and of
-- which no event is left, and anonymous ids that an alias ties to one person and an identify to another, which persons.Latest leaves
-- out. Key: environment of links and roots. Rows read: those of persons.Behind, and the profiles of such ids.
SELECT DISTINCT stray
FROM
(
    SELECT behind AS stray
    FROM ($(persons.Behind))
    WHERE behind NOT IN (SELECT visitor FROM profiles WHERE environment = {environment:UInt64} AND visitor IN ($(persons.Behind)))
    UNION ALL
    SELECT visitor AS stray
    FROM ($(persons.Tied))
)
LIMIT {limit:UInt32}
