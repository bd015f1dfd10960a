-- The sums of the values of a dimension per bucket: events, distinct visitors, page views, distinct sessions, and the
-- sessions that began in the bucket and bounced. Key: that of the rows, and the index started. Rows read: the events
-- of the window, and the events that changed a bounce again; returned: one per bucket and value.
SELECT
    bucket,
    value,
    sum(times) AS occurred,
    uniqExact(visitor) AS visitors,
    sum(viewed) AS pageviews,
    uniqExact(session) AS sessions,
    uniqExactIf(session, (bucket, session) IN ($(breakdown.Bounced))) AS bounces
FROM
(
    $(rows)
)
GROUP BY bucket, value
