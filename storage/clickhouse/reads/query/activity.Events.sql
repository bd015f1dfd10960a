-- Like activity.Visits, for the events that pass a filter. If an event is named, only that event counts. Part of other
-- queries. Key: environment, ts.
SELECT toUInt32(toUnixTimestamp(ts)) AS at, visitor, counted,
    {event:String} = '' OR name = {event:String} AS counts
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
    AND ({event:String} != '' OR session_deeds < 16) AND ($(where))
