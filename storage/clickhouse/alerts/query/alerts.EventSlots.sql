-- What rules count of an environment's events since an instant, by name and slot, bots excluded, with the blocks of it from a
-- number on. The empty name asks for all. Key: environment, ts. Rows read: the events of the window; returned: one per name
-- and slot that has any.
SELECT toString(name) AS word, toInt64(intDiv(toUnixTimestamp(ts), {step:UInt32})) AS slot, count() AS found,
    groupUniqArrayIf(block, block >= {recent:UInt64}) AS blocks
FROM events
WHERE environment = {environment:UInt64} AND NOT is_bot AND ts >= {since:DateTime64(3, 'UTC')}
    AND (has({words:Array(String)}, '') OR has({words:Array(String)}, toString(name)))
GROUP BY word, slot
