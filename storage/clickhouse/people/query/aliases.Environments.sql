-- The environments that have aliases. Key: none; rows read: one per alias.
SELECT DISTINCT environment
FROM aliases
