-- What persons did in a funnel, a 256th of them in each row: how many took the first step
-- within [from, to) and no other step, and of those who went on, in eight little-endian bytes
-- each, the person, the number of the events that are steps, and these ascending: the
-- milliseconds since origin above twelve bits, of which one is set for each step that the
-- event takes. With named, whoever took the first step only is among the latter. Key: environment, ts. Rows read: the events of the window and of the funnel's
-- hours behind it; returned: at most 256.
SELECT
    countIf(NOT goes_on) AS entered,
    reinterpret(groupArrayArrayIf(arrayConcat([person, toUInt64(length(steps))], steps), goes_on), 'String') AS paths
FROM
(
    SELECT person, bitAnd(groupBitOr(step), 4095) > 1 OR {named:Bool} AS goes_on, arraySort(groupArray(step)) AS steps
    FROM
    (
        SELECT
            $(person.Hash) AS person,
            bitOr(bitShiftLeft(toUInt64(toUnixTimestamp64Milli(ts) - {origin:Int64}), 12), toUInt64($(steps))) AS step,
            ts < {to:DateTime64(3, 'UTC')} AND bitAnd(step, 1) = 1 AS enters
        FROM events
        WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
            AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {until:DateTime64(3, 'UTC')}
            AND $(steps) != 0
    )
    GROUP BY person
    HAVING max(enters)
)
GROUP BY bitAnd(person, 255)
