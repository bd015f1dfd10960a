-- The number of errors of each level in an environment since an instant. By the sender's clock, an error happens at
-- most five minutes after it is received. Key: environment; the index received selects the granules of the window.
-- Rows read: the errors of the window and the other errors in the same granules.
SELECT toString(level) AS word, count() AS found
FROM occurrences
WHERE environment = {environment:UInt64} AND received_at > {since:DateTime64(3, 'UTC')} - INTERVAL 5 MINUTE
    AND ts > {since:DateTime64(3, 'UTC')} AND ts <= {until:DateTime64(3, 'UTC')}
GROUP BY level
