-- The newest visits that met the start. Part of journeys.Links and journeys.Count.
-- Key: environment, ts.
SELECT session
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')} AND $(journeys.Start) AND ($(where))
GROUP BY session
ORDER BY max(ts) DESC
LIMIT {sessions:UInt32}
