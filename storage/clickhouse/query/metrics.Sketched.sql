-- The buckets of rollups with their bins, in any order. Key: that of the query inside. Rows read: its own;
-- returned: one per bucket that has any.
SELECT
    bucket,
    part,
    sum(observations),
    sum(total),
    min(lowest),
    max(highest),
    tuple(groupArray(key), groupArray(counted)) AS bins
FROM ($(rollups))
GROUP BY bucket, part
