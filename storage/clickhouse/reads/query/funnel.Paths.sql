-- The paths of persons through a funnel; each row has a 256th of the persons. entered is the number of persons that
-- took the first step within [from, to) and no other step. paths has the persons that went on, in eight little-endian
-- bytes per number: the person, the number of its events that are steps, and these events, ascending. An event is its
-- milliseconds since origin, shifted left by twelve bits, with one bit for each step that it takes. If named is set,
-- paths also has the persons that took only the first step. Key: environment, ts. Rows read: the events of the window
-- and of the funnel's hours after it; returned: at most 256.
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
