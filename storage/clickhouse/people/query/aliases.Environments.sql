-- The environments that have alias edges. Key: none; rows read: one per edge.
SELECT DISTINCT environment
FROM aliases
