-- The number of events behind the visits of whole slots. Key: environment, slot. Rows
-- read: one per slot and session, one column; returned: one.
SELECT toInt64(sum(events))
FROM visits
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')}
