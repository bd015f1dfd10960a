-- Who was active when within a window: rows of (at, visitor, session), repeated ones
-- included. Part of other queries. Key: environment, slot of visits and environment, ts
-- of events.
SELECT toUInt32(slot) AS at, visitor, session
FROM visits
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')}
UNION ALL
SELECT toUInt32(toUnixTimestamp(ts)) AS at, visitor, session
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND $(window.Edges)
