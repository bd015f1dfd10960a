-- The checks of a monitor per day, and the number after which it was not down. Key: app, monitor, at. Rows read: its
-- checks of 90 days, at most 260,000 with two narrow columns; returned: one per day with checks.
SELECT roundDown(toUInt32(toUnixTimestamp(at)), {buckets:Array(UInt32)}) AS day, count() AS checked, countIf(status != 'down') AS up
FROM checks
WHERE app = {app:String} AND monitor = {monitor:String} AND at >= {since:DateTime64(3, 'UTC')}
GROUP BY day
