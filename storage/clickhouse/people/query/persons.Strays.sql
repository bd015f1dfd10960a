-- The known ids that share an anonymous id and of which no event is left: their persons may have nothing but a part of the events of a shared
-- device. Key: environment of links and roots. Rows read: those of persons.Behind, twice, and the profiles of such ids.
SELECT DISTINCT behind
FROM ($(persons.Behind))
WHERE behind NOT IN (SELECT visitor FROM profiles WHERE environment = {environment:UInt64} AND visitor IN ($(persons.Behind)))
LIMIT {limit:UInt32}
