-- The facts of visitors that several persons share, from their events: one row per visitor and person. Key:
-- environment of events, by the index of visitors. Part of persons.Folded.
SELECT visitor, $(persons.At) AS fixed, true AS split, $(columns)
FROM events
INNER JOIN ($(shared)) AS shared USING (visitor)
WHERE environment = {environment:UInt64} AND $(visitor) IN (SELECT visitor FROM ($(shared))) AND $(persons.Counted) AND $(only)
GROUP BY visitor, fixed
