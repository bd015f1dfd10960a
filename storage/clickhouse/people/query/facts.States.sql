-- The facts of the decisions of members, one row per visitor. Key: owner of entities. Rows read: one per person that
-- members changed. Part of persons.Folded.
SELECT visitor, toUInt64(0) AS fixed, $(split) AS split, $(columns)
FROM
(
    SELECT JSONExtract(payload, 'visitor', 'UInt64') AS visitor, payload
    FROM entities FINAL
    WHERE $(owned) AND kind = 'person' AND NOT deleted
)
GROUP BY visitor
