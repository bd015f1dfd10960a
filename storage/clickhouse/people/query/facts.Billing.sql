-- The facts of the current subscriptions of visitors, one row per visitor with any: the highest state (4 active, 3
-- past due, 2 in trial, 1 ended), and whether any of them was ever paid. Key: environment and kind of billing. Rows
-- read: one per change of a subscription. Part of persons.Folded.
SELECT visitor, toUInt64(0) AS fixed, $(split) AS split, $(columns)
FROM
(
    SELECT
        cityHash64(argMaxIf(customer, (ts, received_at, seq), customer != '')) AS visitor,
        argMax((toString(status), trial_end, ended), (ts, received_at, seq)) AS last,
        multiIf(
            last.3 != 0 AND last.3 <= toUnixTimestamp64Milli(now64(3)), 1,
            last.1 = 'active' OR (last.1 = 'trialing' AND last.2 != 0 AND last.2 <= toUnixTimestamp64Milli(now64(3))), 4,
            last.1 = 'past_due', 3,
            last.1 = 'trialing', 2,
            1
        ) AS state,
        state >= 3 OR max(status IN ('active', 'past_due')) AS paid
    FROM billing
    WHERE environment = {environment:UInt64} AND kind = 'subscription'
    GROUP BY subject
)
WHERE $(only)
GROUP BY visitor
