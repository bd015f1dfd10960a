-- The checks of the monitors of an application since an hour, and the number that found them not down. Key: app,
-- monitor, hour. Rows read: one per monitor, hour and part, of the projection hours, at least 720 per monitor for 30
-- days; returned: one per monitor.
SELECT toString(monitor) AS id, sum(checks) AS checks, sum(up) AS up
FROM uptime
WHERE app = {app:String} AND ({monitor:String} = '' OR monitor = {monitor:String}) AND hour >= {since:DateTime64(3, 'UTC')}
GROUP BY id
