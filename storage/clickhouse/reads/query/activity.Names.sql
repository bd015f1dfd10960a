-- Like activity.Visits, if only one event counts. Part of other queries. Key: environment, slot of names and
-- environment, ts of events.
SELECT toUInt32(slot) AS at, visitor, counted, name = {event:String} AS counts
FROM names
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')}
UNION ALL
SELECT toUInt32(toUnixTimestamp(ts)) AS at, visitor, counted,
    name = {event:String} AS counts
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND $(window.Edges)
