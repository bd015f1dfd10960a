-- What rules count of an environment's errors since an instant, by level and slot, with the blocks of it from a number on. An
-- error happens at most five minutes after it is received, by the clock of whoever sent it. The empty level asks for all.
-- Key: environment; the index received leaves the granules of the window. Rows read: the errors of the window and those that
-- share their granules; returned: one per level and slot that has any.
SELECT toString(level) AS word, toInt64(intDiv(toUnixTimestamp(ts), {step:UInt32})) AS slot, count() AS found,
    groupUniqArrayIf(block, block >= {recent:UInt64}) AS blocks
FROM occurrences
WHERE environment = {environment:UInt64} AND received_at > {since:DateTime64(3, 'UTC')} - INTERVAL 5 MINUTE
    AND ts >= {since:DateTime64(3, 'UTC')}
    AND (has({words:Array(String)}, '') OR has({words:Array(String)}, toString(level)))
GROUP BY word, slot
