-- The number of issues that were seen for the first time in a window, and the number that regressed in it. Key:
-- environment. Rows read: one per issue; returned: one.
SELECT
    countIf(first_seen_of >= {from:DateTime64(3, 'UTC')} AND first_seen_of < {to:DateTime64(3, 'UTC')}) AS appeared,
    countIf(states.regressed_ms >= toUnixTimestamp64Milli({from:DateTime64(3, 'UTC')})
        AND states.regressed_ms < toUnixTimestamp64Milli({to:DateTime64(3, 'UTC')})) AS regressed
FROM
(
    SELECT transform(issue, {members:Array(UInt64)}, {roots:Array(UInt64)}, issue) AS root, min(first_seen) AS first_seen_of
    FROM issues
    WHERE environment = {environment:UInt64}
    GROUP BY root
) AS present
LEFT JOIN ($(issues.States)) AS states ON states.issue = present.root
