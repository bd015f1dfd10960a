-- The arrivals of items of some environments since a UTC day, by signal: first and last, the number of minutes with
-- arrivals, and the two longest pauses in minutes. Rows without arrivals are omitted. Key: environment, day. Rows
-- read: some per signal, fate and code of each day; returned: one for each environment and signal.
SELECT
    environment,
    signal,
    toDateTime64(at[1] * 60, 3, 'UTC') AS first,
    latest,
    length(at) AS minutes,
    arraySlice(arrayReverseSort(arrayDifference(at)), 1, 2) AS pauses
FROM
(
    SELECT
        environment,
        signal,
        max(last) AS latest,
        arraySort(groupUniqArrayArray(arrayMap(minute -> toInt32(toUInt16(day)) * 1440 + minute, minutes))) AS at
    FROM usage
    WHERE environment IN {environments:Array(UInt64)} AND day >= {since:Date}
        AND fate NOT IN ('badKey', 'clientSide', 'deadLetter', 'givenUp', 'stripped')
    GROUP BY environment, signal
)
WHERE notEmpty(at)
