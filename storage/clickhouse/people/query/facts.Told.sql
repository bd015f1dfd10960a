-- The facts about visitors that several persons share, from the events of these visitors. Returns one row per visitor
-- and person. Key: environment of events, by the index of visitors. Part of persons.Folded.
SELECT visitor, fixed, true AS split, $(columns)
FROM
(
    SELECT visitor, $(persons.At) AS fixed, name, is_bot, distinct_id, $(told.Columns)
    FROM events
    INNER JOIN ($(shared)) AS shared USING (visitor)
    WHERE environment = {environment:UInt64} AND name IN ('$identify', 'signup') AND $(visitor) IN (SELECT visitor FROM ($(shared))) AND $(persons.Counted) AND $(only)
)
GROUP BY visitor, fixed
