-- The facts of the properties of events, one row per visitor with an event since an instant. Key: environment, ts.
-- Rows read: the events since then. Part of persons.Folded.
SELECT visitor, toUInt64(0) AS fixed, $(split) AS split, $(columns)
FROM events
WHERE environment = {environment:UInt64} AND ts >= fromUnixTimestamp64Milli({sent_since:Int64}, 'UTC') AND $(persons.Counted) AND $(only)
GROUP BY visitor
