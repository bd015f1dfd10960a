-- How many errors of each level there were in an environment since an instant. An error happens at most five minutes after
-- it is received, by the clock of whoever sent it. Key: environment; the index received leaves the granules of the window.
-- Rows read: the errors of the window and those that share their granules.
SELECT toString(level) AS word, count() AS found
FROM occurrences
WHERE environment = {environment:UInt64} AND received_at > {since:DateTime64(3, 'UTC')} - INTERVAL 5 MINUTE
    AND ts > {since:DateTime64(3, 'UTC')} AND ts <= {until:DateTime64(3, 'UTC')}
GROUP BY level
