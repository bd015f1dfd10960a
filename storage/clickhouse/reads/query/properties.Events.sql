-- The number of events that properties.List reads, plus one if there are more. Key: environment, ts. Rows read: the
-- newest {events} of the window; returned: one.
SELECT count()
FROM
(
    SELECT 1 FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
        AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
        AND ({event:String} = '' OR name = {event:String}) AND name != {besides:String}
        AND ($(where))
    LIMIT {events:UInt64}
)
