-- The visitors who told of a trait what a condition wants, whatever they told since. Key: environment of traits. Rows read: one per visitor or
-- more. Part of other queries.
SELECT visitor FROM traits WHERE environment = {environment:UInt64} AND ($(meets))
