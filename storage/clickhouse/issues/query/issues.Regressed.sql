-- The time of the last regression of issues. Part of issues.Begun. Key: that of issues.States.
SELECT issue, regressed_ms FROM ($(issues.States)) WHERE regressed_ms != 0
