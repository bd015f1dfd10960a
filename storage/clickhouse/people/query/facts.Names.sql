-- The facts of the events of some names, one row per visitor with any of them. Key: environment, slot of names. Rows
-- read: one per slot, name and visitor since the earliest window. Part of persons.Folded.
SELECT visitor, toUInt64(0) AS fixed, $(split) AS split, $(columns)
FROM names
WHERE environment = {environment:UInt64} AND name IN {did_names:Array(String)} AND slot >= toDateTime({did_since:Int64}, 'UTC')
    AND $(persons.Counted) AND $(only)
GROUP BY visitor
