-- When each monitor was checked last. Key: none. Rows: one per monitor and part.
SELECT toString(app) AS app_name, toString(monitor) AS id, max(at) AS latest
FROM latest_checks
GROUP BY app, monitor
