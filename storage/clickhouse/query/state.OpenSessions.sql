-- Sessions with an event received since an instant, folded over all their events. Key:
-- none; the indexes received and started leave the granules of recent sessions. Rows
-- returned: one per session, streamed.
WITH recent AS
(
    SELECT
        environment,
        if(distinct_id != '', distinct_id, anonymous_id) AS visitor,
        session_id,
        min(session_started) AS began
    FROM events
    WHERE received_at >= {since:DateTime64(3, 'UTC')} AND block != {block:UInt64}
    GROUP BY environment, visitor, session_id
)
SELECT
    environment,
    argMax(distinct_id, ts) AS distinct_id_of,
    argMax(anonymous_id, ts) AS anonymous_id_of,
    session_id,
    toUnixTimestamp64Milli(min(session_started)) AS began_ms,
    toUnixTimestamp64Milli(min(ts)) AS first_ms,
    toUnixTimestamp64Milli(max(ts)) AS last_ms,
    toInt32(countIf(name IN ('page_view', '$pageview'))) AS pageviews,
    toInt32(countIf(name NOT IN ('page_view', '$pageview', '$identify', '$alias', 'engagement'))) AS interactive,
    sum(engaged_ms) AS engaged
FROM events
WHERE session_started >= (SELECT min(began) FROM recent)
    AND block != {block:UInt64}
    AND (environment, if(distinct_id != '', distinct_id, anonymous_id), session_id) IN
        (SELECT environment, visitor, session_id FROM recent)
GROUP BY environment, if(distinct_id != '', distinct_id, anonymous_id), session_id
