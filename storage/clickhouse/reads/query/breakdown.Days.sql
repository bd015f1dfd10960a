-- As breakdown.Buckets, in half of the processor time, but with 16 bytes of memory an event:
-- numbers are gathered and then told apart, instead of being looked up one by one. Key: environment,
-- ts.
SELECT
    bucket,
    value,
    sum(times) AS occurred,
    length(arrayDistinct(groupArray(visitor))) AS visitors,
    sum(viewed) AS pageviews,
    length(arrayDistinct(groupArray(session))) AS sessions,
    length(arrayDistinct(groupArrayIf(session, (bucket, session) IN ($(breakdown.Bounced))))) AS bounces
FROM
(
    $(rows)
)
GROUP BY bucket, value
