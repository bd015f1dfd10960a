-- The latest checks of some monitors of some applications. Key: app, monitor. Rows: one per monitor.
SELECT app, toString(monitor) AS id, at, toString(status) AS status, failures, toString(error) AS error, total
FROM latest_checks FINAL
WHERE app IN {apps:Array(String)} AND monitor IN {monitors:Array(String)}
