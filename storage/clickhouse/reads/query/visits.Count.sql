-- The distinct visitors and sessions of a window per bucket. Key: environment, slot; the edges read events by
-- environment, ts. Rows read: one per slot and session; returned: one per bucket.
SELECT
    roundDown(at, {buckets:Array(UInt32)}) AS bucket,
    uniqExact(counted) AS visitors,
    uniqExact(session) AS sessions
FROM
(
    $(window.Visits)
)
GROUP BY bucket
