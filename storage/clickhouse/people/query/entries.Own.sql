-- The entries of the visits of some visitors that are their own. Key: environment, visitor. Part of other queries.
SELECT visitor, min(entry) AS e
FROM entries
WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
GROUP BY visitor, session
HAVING e.owner = visitor
