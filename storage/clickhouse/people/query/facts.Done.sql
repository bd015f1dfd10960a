-- The facts of when visitors last did each thing: name and last, in seconds since the epoch. One row per visitor. Key:
-- environment of names. Rows read: one per slot, name and visitor. Part of persons.Folded.
SELECT visitor, toUInt64(0) AS fixed, $(split) AS split, $(columns)
FROM
(
    SELECT visitor, toString(name) AS name, toInt64(max(toUnixTimestamp(slot))) AS last
    FROM names
    WHERE environment = {environment:UInt64} AND $(persons.Counted) AND $(only)
    GROUP BY visitor, name
)
GROUP BY visitor
