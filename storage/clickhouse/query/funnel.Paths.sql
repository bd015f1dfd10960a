-- What persons did in a funnel: for everyone who took the first step and another one, the
-- events that are steps, ascending, eight little-endian bytes each: the milliseconds since
-- origin above twelve bits, of which one is set for each step that the event takes. Those who
-- took no step but the first within [from, to) are counted in the one row of goes_on = 0,
-- whose other columns mean nothing. Key: environment, ts. Rows read: the events of the
-- window and of the funnel's hours behind it; returned: one per person who went on.
SELECT goes_on, if(goes_on, person, 0) AS who, any(if(goes_on, steps, '')) AS path, count() AS persons
FROM
(
    SELECT
        person,
        bitAnd(groupBitOr(step), 4095) > 1 AS goes_on,
        reinterpret(arraySort(groupArray(step)), 'String') AS steps
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
GROUP BY goes_on, who
