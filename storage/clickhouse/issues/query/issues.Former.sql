-- The environments that have issues of the former grouping. Key: none. Rows read: one per issue of all environments,
-- two columns; each node runs it once an hour. Rows returned: one per environment.
SELECT DISTINCT environment FROM issues WHERE startsWith(fingerprint, {prefix:String})
