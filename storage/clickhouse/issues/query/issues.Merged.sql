-- The merged issues of an environment with their roots. Key: that of issues.States. Rows returned: one per merged
-- issue, few.
SELECT issue, root FROM ($(issues.States)) WHERE root != 0 ORDER BY issue
