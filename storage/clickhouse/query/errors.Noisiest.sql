-- The issues with the most occurrences in a window. Key: as errors.Window. Rows read: as
-- errors.Sum; returned: at most limit.
SELECT root, sum(occurred) AS occurrences
FROM ($(errors.Window))
GROUP BY root
ORDER BY occurrences DESC, root
LIMIT {limit:UInt32}
