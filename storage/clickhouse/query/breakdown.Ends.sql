-- What happened in a partial slot at an end of a window, per value: who was active in
-- which session, with how many page views, and, marked, the sessions that began in the
-- slot and bounced, wherever in their bucket they showed the value. Key: environment, ts,
-- and the index started. Rows read: the events of a quarter of an hour, and those of the
-- sessions that began in it; returned: one per value, visitor and session.
SELECT value, visitor, session, sum(viewed) AS pageviews, false AS bounced
FROM
(
    $(rows)
)
GROUP BY value, visitor, session
UNION ALL
SELECT DISTINCT value, toUInt64(0) AS visitor, session, toUInt64(0) AS pageviews, true AS bounced
FROM
(
    $(began)
)
WHERE (bucket, session) IN ($(breakdown.Bounced))
