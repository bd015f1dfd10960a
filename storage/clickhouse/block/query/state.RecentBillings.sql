-- The kinds, subjects and ids of billing items that were received in a span of time, and the current rate: XXH3 of
-- each, and XXH64 of the id. Key: none; the index received skips the granules outside the span. Rows returned: one per
-- environment, with arrays of at most some 10^6 in all.
SELECT
    environment,
    groupArray(xxh3(toString(kind))) AS kinds,
    groupArray(xxh3(subject)) AS subjects,
    groupArray(xxh3(id)) AS ids,
    groupArray(xxHash64(id)) AS others,
    groupArray(last_rate) AS rates
FROM
(
    SELECT environment, kind, subject, id, argMax(rate, rank) AS last_rate
    FROM billing
    WHERE received_at >= {since:DateTime64(3, 'UTC')} AND received_at < {until:DateTime64(3, 'UTC')}
        AND block != {block:UInt64}
    GROUP BY environment, kind, subject, id
)
GROUP BY environment
