-- The counts of an environment's events for rules since an instant, by name and slot, without bots, with the blocks of
-- these events from a number on. The empty name requests all names. Key: environment, ts. Rows read: the events of the
-- window; returned: one per name and slot with events.
SELECT toString(name) AS word, toInt64(intDiv(toUnixTimestamp(ts), {step:UInt32})) AS slot, count() AS found,
    groupUniqArrayIf(block, block >= {recent:UInt64}) AS blocks
FROM events
WHERE environment = {environment:UInt64} AND NOT is_bot AND ts >= {since:DateTime64(3, 'UTC')}
    AND (has({words:Array(String)}, '') OR has({words:Array(String)}, toString(name)))
GROUP BY word, slot
