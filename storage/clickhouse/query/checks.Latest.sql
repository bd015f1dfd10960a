-- The latest check of a monitor, or of all of an application where none is named. Key: app, monitor. Rows: one per monitor.
SELECT toString(monitor) AS id, at, toString(status) AS status, failures, toString(error) AS error, total
FROM latest_checks FINAL
WHERE app = {app:String} AND ({monitor:String} = '' OR monitor = {monitor:String})
