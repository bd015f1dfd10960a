-- The materialized profiles of an environment, except of changed people. Key: number of person_folds. Rows read: one
-- per person. Part of other queries.
SELECT *, words$(finds)
FROM person_folds
WHERE number = {kept:UInt64} AND person != 0 AND person NOT IN {changed:Array(UInt64)}
