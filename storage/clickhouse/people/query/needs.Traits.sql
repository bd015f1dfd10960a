-- The prefilter of a trait: visitors with a matching value in any of their rows, even if a later row replaces it. Key:
-- environment of traits. Rows read: one per visitor or more. Part of other queries.
SELECT visitor FROM traits WHERE environment = {environment:UInt64} AND ($(meets))
