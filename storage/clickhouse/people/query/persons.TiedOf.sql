-- The visitors that may be tied to others, in either direction. All others are persons by themselves, without further
-- visitors. Key: the key of persons.Linked; environment, and the indexes of known and root skip granules. Rows
-- returned: at most four per visitor and link.
$(persons.Linked)
UNION ALL
SELECT known
FROM links
WHERE environment = {environment:UInt64} AND known IN {only:Array(UInt64)} AND known != anonymous
UNION ALL
SELECT root
FROM roots
WHERE environment = {environment:UInt64} AND root IN {only:Array(UInt64)}
