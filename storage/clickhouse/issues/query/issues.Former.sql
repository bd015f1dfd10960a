-- Which environments have issues of the former grouping. Key: none. Rows read: one per issue of all
-- environments, two columns; asked once an hour by each node. Rows returned: one per environment.
SELECT DISTINCT environment FROM issues WHERE startsWith(fingerprint, {prefix:String})
