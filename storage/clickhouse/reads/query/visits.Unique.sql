-- The distinct visitors of a whole window. Key: environment, slot; the edges read events
-- by environment, ts. Rows read: one per slot and session; returned: one.
SELECT uniqExact(counted) AS visitors
FROM
(
    $(window.Visits)
)
