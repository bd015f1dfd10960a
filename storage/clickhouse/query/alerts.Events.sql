-- How many events of each name there were in an environment since an instant, bots excluded. Key: environment, ts. Rows
-- read: the events of the window.
SELECT toString(name) AS word, count() AS found
FROM events
WHERE environment = {environment:UInt64} AND NOT is_bot AND ts > {since:DateTime64(3, 'UTC')} AND ts <= {until:DateTime64(3, 'UTC')}
GROUP BY name
