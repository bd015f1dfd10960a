-- Candidates for a query that needs them twice. The engine evaluates them once, as a scalar. The scalar has 64 parts,
-- since the size of an array is bounded. Key: the key of the candidates. Rows read: the rows of the candidates. Part
-- of other queries.
SELECT arrayJoin(arrayJoin((SELECT groupArray(ids) FROM (SELECT groupUniqArray(visitor) AS ids FROM ($(candidates)) GROUP BY bitShiftRight(visitor, 58))))) AS visitor
