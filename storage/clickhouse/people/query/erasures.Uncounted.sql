-- Digests of the names and paths with a count of zero, since only erased visitors had them. Key: environment. Rows
-- read: all counts of the environment.
SELECT cityHash64(name, path)
FROM event_counts
WHERE environment = {environment:UInt64}
GROUP BY name, path
HAVING sum(events) = 0
