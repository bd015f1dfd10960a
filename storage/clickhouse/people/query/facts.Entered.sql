-- The facts of the entries of visits of visitors that several persons share, from the events of these visitors. Returns one row per
-- visitor and person. Key: environment of events, by the index of visitors, and of entries. Part of persons.Folded.
SELECT visitor, fixed, true AS split, $(columns)
FROM
(
    SELECT visitor, $(persons.At) AS fixed, source, name IN ('$identify', '$alias') AS tells, $(entries.Marks)
    FROM events
    INNER JOIN ($(shared)) AS shared USING (visitor)
    LEFT JOIN
    (
        SELECT visitor, session, min(entry) AS e
        FROM entries
        WHERE environment = {environment:UInt64} AND visitor IN (SELECT visitor FROM ($(shared)))
        GROUP BY visitor, session
    ) AS visits USING (visitor, session)
    WHERE environment = {environment:UInt64} AND $(visitor) IN (SELECT visitor FROM ($(shared))) AND $(persons.Counted) AND $(only)
)
GROUP BY visitor, fixed
