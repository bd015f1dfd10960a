-- The latest checks of all monitors. Key: none. Rows read: one per monitor and part, of the projection latest; returned: one
-- per monitor.
SELECT app, toString(monitor) AS id, at, toString(status) AS status, failures, toString(error) AS error, total
FROM latest_checks
