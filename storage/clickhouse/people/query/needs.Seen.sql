-- The visitors who were last seen as a condition wants. Key: environment of profiles. Rows read: one per visitor or more. Part of other
-- queries.
SELECT visitor FROM profiles WHERE environment = {environment:UInt64} AND $(meets)
