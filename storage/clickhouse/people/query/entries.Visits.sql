-- The entries of the visits in which some visitors were, whoever owns them. Key: environment, visitor. Part of other queries.
SELECT visitor, session, min(entry) AS e
FROM entries
WHERE environment = {environment:UInt64} AND visitor IN {only:Array(UInt64)}
GROUP BY visitor, session
