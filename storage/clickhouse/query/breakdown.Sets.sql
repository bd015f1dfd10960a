-- As breakdown.Buckets for one bucket, with who stands behind the numbers: visitors and
-- sessions, ascending, in eight little-endian bytes each. Key: that of the rows, and the
-- index started. Rows read: the events of the window, and those that changed a bounce
-- again; returned: one per value.
SELECT
    value,
    sum(times) AS occurred,
    sum(viewed) AS pageviews,
    uniqExactIf(session, (bucket, session) IN ($(breakdown.Bounced))) AS bounces,
    reinterpret(arraySort(groupUniqArray(visitor)), 'String') AS visitor_set,
    reinterpret(arraySort(groupUniqArray(session)), 'String') AS session_set
FROM
(
    $(rows)
)
GROUP BY value
