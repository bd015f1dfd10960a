-- The facts of the entries of visits, one row per visitor. Key: environment of entries. Rows read: one per visit. Part of persons.Folded.
SELECT visitor, toUInt64(0) AS fixed, $(split) AS split, $(columns)
FROM
(
    SELECT visitor, min(entry) AS e
    FROM entries
    WHERE environment = {environment:UInt64} AND $(only)
    GROUP BY visitor, session
    HAVING e.owner = visitor
)
GROUP BY visitor
