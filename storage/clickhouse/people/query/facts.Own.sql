-- The facts of a source, one row per visitor. Key: environment of the source. Rows read: one per visitor of the
-- source, or more. Part of persons.Folded.
SELECT visitor, toUInt64(0) AS fixed, $(split) AS split, $(columns)
FROM $(source)
WHERE environment = {environment:UInt64} AND $(only)
GROUP BY visitor
