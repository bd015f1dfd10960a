-- The decided states of some issues. Key: that of issues.States. Rows returned: one per issue with a decision.
SELECT issue, status FROM ($(issues.States)) WHERE issue IN {issues:Array(UInt64)}
