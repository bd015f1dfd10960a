-- For each check of a monitor since an instant, the number of consecutive failures, 0 if it was not down. Key: app,
-- monitor, at. Rows read and returned: its checks since then, at most one per 30 s.
SELECT at, if(status = 'down', failures, 0) AS down
FROM checks
WHERE app = {app:String} AND monitor = {monitor:String} AND at >= {since:DateTime64(3, 'UTC')}
ORDER BY at
