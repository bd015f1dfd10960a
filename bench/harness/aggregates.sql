SELECT target, environment, slot, sum(kept) AS rows, sum(counted) AS sums
FROM
(
    SELECT arrayJoin(['traffic', 'visits', 'names', 'event_counts']) AS target, environment, toStartOfFifteenMinutes(ts) AS slot, toInt64(1) AS kept, toInt64(0) AS counted FROM events
    UNION ALL
    SELECT 'traffic', environment, slot, 0, t.events FROM traffic AS t
    UNION ALL
    SELECT 'visits', environment, slot, 0, toInt64(t.events) FROM visits AS t
    UNION ALL
    SELECT 'names', environment, slot, 0, toInt64(t.events) FROM names AS t
    UNION ALL
    SELECT 'event_counts', environment, slot, 0, toInt64(t.events) FROM event_counts AS t
    UNION ALL
    SELECT 'page views of traffic', environment, toStartOfFifteenMinutes(ts), toInt64(name IN ('page_view', '$pageview')), 0 FROM events
    UNION ALL
    SELECT 'page views of traffic', environment, slot, 0, t.pageviews FROM traffic AS t
    UNION ALL
    SELECT 'bounces of traffic', environment, toStartOfFifteenMinutes(session_started), toInt64(bounce_delta), 0 FROM events
    UNION ALL
    SELECT 'bounces of traffic', environment, slot, 0, t.bounces FROM traffic AS t
    UNION ALL
    SELECT 'durations of traffic', environment, toStartOfFifteenMinutes(session_started), toInt64(duration_delta), 0 FROM events
    UNION ALL
    SELECT 'durations of traffic', environment, slot, 0, t.duration_ms FROM traffic AS t
    UNION ALL
    SELECT 'profiles', environment, toDateTime(0), 1, 0 FROM events WHERE NOT is_bot OR name IN ('$identify', '$alias')
    UNION ALL
    SELECT 'profiles', environment, toDateTime(0), 0, toInt64(t.events) FROM profiles AS t
    UNION ALL
    SELECT arrayJoin(['issues', 'issue_users']), environment, toDateTime(0), 1, 0 FROM occurrences
    UNION ALL
    SELECT 'issues', environment, toDateTime(0), 0, toInt64(t.events) FROM issues AS t
    UNION ALL
    SELECT 'issue_users', environment, toDateTime(0), 0, 1 FROM issue_users
    UNION ALL
    SELECT 'issue_releases', environment, toDateTime(0), toInt64(o.release != ''), 0 FROM occurrences AS o
    UNION ALL
    SELECT 'issue_releases', environment, toDateTime(0), 0, toInt64(t.events) FROM issue_releases AS t
    UNION ALL
    SELECT arrayJoin(['metric_rollups', 'metric_totals', 'metric_hours']), environment, toStartOfHour(ts), toInt64(p.count), 0 FROM metric_points AS p
    UNION ALL
    SELECT 'metric_rollups', environment, toStartOfHour(slot), 0, toInt64(t.count) FROM metric_rollups AS t
    UNION ALL
    SELECT 'metric_totals', environment, toStartOfHour(slot), 0, toInt64(t.count) FROM metric_totals AS t
    UNION ALL
    SELECT 'metric_hours', environment, slot, 0, toInt64(t.count) FROM metric_hours AS t
    UNION ALL
    SELECT 'uptime', 0, toStartOfHour(at), 1, 0 FROM checks
    UNION ALL
    SELECT 'uptime', 0, hour, 0, toInt64(t.checks) FROM uptime AS t
)
GROUP BY target, environment, slot
HAVING sum(kept) != sum(counted)
ORDER BY target, environment, slot
LIMIT 100
