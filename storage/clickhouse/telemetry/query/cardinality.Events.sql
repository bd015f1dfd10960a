-- The number of events that cardinality.Properties reads, plus one if there are more. Key: environment, ts. Rows read:
-- the newest {events} of the window; returned: one.
SELECT count()
FROM
(
    SELECT 1 FROM events
    WHERE environment = {environment:UInt64} AND ts >= {since:DateTime64(3, 'UTC')} AND name != {besides:String}
    LIMIT {events:UInt32}
)
