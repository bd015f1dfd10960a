-- When issues came back last. Part of issues.Begun. Key: as issues.States.
SELECT issue, regressed_ms FROM ($(issues.States)) WHERE regressed_ms != 0
