-- The latest checks of all monitors. Key: none. Rows: one per monitor.
SELECT app, toString(monitor) AS id, at, toString(status) AS status, failures, toString(error) AS error, total
FROM latest_checks FINAL
