-- The activity within a window: rows of (at, visitor, counted, session), with repetitions. Part of other queries. Key:
-- environment, slot of visits and environment, ts of events.
SELECT toUInt32(slot) AS at, visitor, counted, session
FROM visits
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')} AND session != 0
UNION ALL
SELECT toUInt32(toUnixTimestamp(ts)) AS at, visitor, counted, session
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND session_deeds < 16 AND $(window.Edges)
