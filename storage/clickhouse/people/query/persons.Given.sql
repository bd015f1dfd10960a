-- persons.Links for visitors with spans that were read before. Key: none. Part of other queries.
SELECT one.1 AS visitor, arrayZip(one.2, one.3) AS spans
FROM (SELECT arrayJoin(arrayZip({linked:Array(UInt64)}, {linked_since:Array(Array(Int64))}, {linked_persons:Array(Array(UInt64))})) AS one)
