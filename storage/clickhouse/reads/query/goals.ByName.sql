-- Like goals.Count without filters, for goals that are events, by the names of the events. Key: environment, slot of
-- names; the edges read events by environment, ts. Rows read: one per slot, name and visitor; returned: one per name.
SELECT word, sum(occurred) AS conversions, uniqExact(day, visitor) AS visitors
FROM
(
    SELECT toString(name) AS word, events AS occurred, roundDown(toUInt32(slot), {buckets:Array(UInt32)}) AS day, counted AS visitor
    FROM names
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND name IN {goal_events:Array(String)}
        AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')}
    UNION ALL
    SELECT toString(name) AS word, toUInt64(1) AS occurred, roundDown(toUInt32(toUnixTimestamp(ts)), {buckets:Array(UInt32)}) AS day,
        counted AS visitor
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND name IN {goal_events:Array(String)}
        AND $(window.Edges)
)
GROUP BY word
