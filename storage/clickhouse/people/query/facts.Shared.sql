-- The facts of visitors that several persons share, from their events: one row per visitor and person. Key:
-- environment of events, by the index of visitors. Part of persons.Rank and persons.Count.
SELECT visitor, $(persons.At) AS fixed, true AS split, $(columns)
FROM events
INNER JOIN ($(persons.Shared)) AS shared USING (visitor)
WHERE environment = {environment:UInt64} AND $(persons.Counted)
GROUP BY visitor, fixed
