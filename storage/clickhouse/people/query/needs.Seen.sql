-- The prefilter of the time of the last visit. Key: environment of profiles. Rows read: one per visitor or more. Part
-- of other queries.
SELECT visitor FROM profiles WHERE environment = {environment:UInt64} AND $(meets)
