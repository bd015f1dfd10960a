-- The number of visitors that were active on a day and, before that, last on another of the days (0 if on none). Days
-- are identified by their start in seconds since 1970. Key: that of the rows. Rows read: one per slot and session, or
-- the events of a filtered read; returned: one per pair of days with activity.
SELECT day, before, count() AS visitors
FROM
(
    SELECT arraySort(groupUniqArray(roundDown(at, {buckets:Array(UInt32)}))) AS days,
        arrayPushFront(arrayPopBack(days), toUInt32(0)) AS befores
    FROM
    (
        $(rows)
    )
    GROUP BY counted
)
ARRAY JOIN days AS day, befores AS before
GROUP BY day, before
