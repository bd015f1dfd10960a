-- How many events of an environment there were since an instant, bots excluded, of one name where one is given. Key:
-- environment, ts. Rows read: the events of the window.
SELECT count() AS events
FROM events
WHERE environment = {environment:UInt64} AND NOT is_bot AND ts > {since:DateTime64(3, 'UTC')} AND ts <= {until:DateTime64(3, 'UTC')}
    AND ({name:String} = '' OR name = {name:String})
