-- The visitors of whole slots, ascending, in eight little-endian bytes each, and the start of each visitor's last
-- active day, in four bytes each. Key: environment, slot. Rows read: one per slot and session of a month; returned:
-- one.
SELECT reinterpret(groupArray(counted), 'String') AS visitors, reinterpret(groupArray(day), 'String') AS days
FROM
(
    SELECT counted, max(roundDown(toUInt32(slot), {buckets:Array(UInt32)})) AS day
    FROM visits
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
        AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')} AND session != 0
    GROUP BY counted
    ORDER BY counted
)
