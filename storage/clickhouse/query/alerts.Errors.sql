-- How many errors of an environment there were since an instant, of one level where one is given. An error happens at most
-- five minutes after it is received, by the clock of whoever sent it. Key: environment; the index received leaves the
-- granules of the window. Rows read: the errors of the window and those that share their granules.
SELECT count() AS errors
FROM occurrences
WHERE environment = {environment:UInt64} AND received_at > {since:DateTime64(3, 'UTC')} - INTERVAL 5 MINUTE
    AND ts > {since:DateTime64(3, 'UTC')} AND ts <= {until:DateTime64(3, 'UTC')}
    AND ({level:String} = '' OR level = {level:String})
