-- The activity in whole slots per bucket: the number of events and of sessions, the visitors ascending in eight
-- little-endian bytes each, and, if requested, the sessions in the same form. Key: environment, slot. Rows read: one
-- per slot and session; returned: one per bucket.
SELECT
    roundDown(toUInt32(slot), {buckets:Array(UInt32)}) AS bucket,
    sum(events) AS occurred,
    uniqExactIf(session, session != 0) AS sessions,
    reinterpret(arraySort(groupUniqArrayIf(counted, session != 0)), 'String') AS visitor_set,
    reinterpret(arraySort(groupUniqArrayIf(session, {with_sessions:Bool} AND session != 0)), 'String') AS session_set
FROM visits
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')}
GROUP BY bucket
