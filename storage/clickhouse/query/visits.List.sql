-- Who was active in whole slots, per bucket, with how many events. Key: environment, slot.
-- Rows read: one per slot and session; returned: one per bucket, visitor and session.
SELECT
    roundDown(toUInt32(slot), {buckets:Array(UInt32)}) AS bucket,
    visitor,
    session,
    sum(events) AS occurred
FROM visits
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')}
GROUP BY bucket, visitor, session
