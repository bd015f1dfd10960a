-- Candidates that a query names twice and the engine looks for once: a scalar, in 64 parts, since an array is bounded. Key: that of the candidates. Rows
-- read: those of the candidates. Part of other queries.
SELECT arrayJoin(arrayJoin((SELECT groupArray(ids) FROM (SELECT groupUniqArray(visitor) AS ids FROM ($(candidates)) GROUP BY bitShiftRight(visitor, 58))))) AS visitor
