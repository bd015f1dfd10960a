-- How many checks of a monitor had failed in a row after each since an instant, 0 where it was not down. Key: app, monitor,
-- at. Rows read and returned: its checks since then, at most one each 30 s.
SELECT at, if(status = 'down', failures, 0) AS down
FROM checks
WHERE app = {app:String} AND monitor = {monitor:String} AND at >= {since:DateTime64(3, 'UTC')}
ORDER BY at
