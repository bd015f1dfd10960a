-- Which issues of an environment are part of which others. Key: as issues.States. Rows
-- returned: one per merged issue, few.
SELECT issue, root FROM ($(issues.States)) WHERE root != 0 ORDER BY issue
