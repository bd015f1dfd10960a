-- The counts of an environment's errors for rules since an instant, by level and slot, with the blocks of these errors
-- from a number on. By the sender's clock, an error happens at most five minutes after it is received. The empty level
-- requests all levels. Key: environment; the index received selects the granules of the window. Rows read: the errors
-- of the window and the other errors in the same granules; returned: one per level and slot with errors.
SELECT toString(level) AS word, toInt64(intDiv(toUnixTimestamp(ts), {step:UInt32})) AS slot, count() AS found,
    groupUniqArrayIf(block, block >= {recent:UInt64}) AS blocks
FROM occurrences
WHERE environment = {environment:UInt64} AND received_at > {since:DateTime64(3, 'UTC')} - INTERVAL 5 MINUTE
    AND ts >= {since:DateTime64(3, 'UTC')}
    AND (has({words:Array(String)}, '') OR has({words:Array(String)}, toString(level)))
GROUP BY word, slot
