-- The latest checks of some monitors of some applications. Key: app, monitor. Rows read: the granules with them in the
-- projection latest, one row per monitor and part; returned: one per monitor.
SELECT app, toString(monitor) AS id, at, toString(status) AS status, failures, toString(error) AS error, total
FROM latest_checks
WHERE app IN {apps:Array(String)} AND monitor IN {monitors:Array(String)}
