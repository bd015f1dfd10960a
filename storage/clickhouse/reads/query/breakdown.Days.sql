-- Like breakdown.Buckets, in half of the CPU time, but with 16 bytes of memory per event: numbers are collected first
-- and deduplicated afterwards, instead of being looked up one by one. Key: environment, ts.
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
