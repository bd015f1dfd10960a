-- What was decided about some issues. Key: as issues.States. Rows returned: one per touched issue.
SELECT issue, status FROM ($(issues.States)) WHERE issue IN {issues:Array(UInt64)}
