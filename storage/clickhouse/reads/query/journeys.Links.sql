-- The number of visits that went from one page to the next, by step, starting or ending at a page or event. The word
-- of the start is a zero byte; the empty word is the end of the visit. Key: environment, ts. Rows read: the events of
-- the window twice, narrow columns; returned: at most 2000 per step.
SELECT link.1 AS step, link.2 AS value, link.3 AS next, count() AS sessions
FROM
(
    SELECT arrayJoin(arrayMap(
        i -> (toUInt8(i), way[i], if(i < length(way), way[i + 1], '')),
        range(1, least(length(way), {steps:UInt32}) + 1))) AS link
    FROM
    (
        SELECT
            arrayCompact(arrayMap(x -> x.2, arraySort(x -> x.1, groupArray(((ts, id), word))))) AS words,
            indexOf(words, '\0') AS first,
            arraySlice(if({backwards:Bool}, arrayReverse(arraySlice(words, 1, first)), arraySlice(words, first)), 1, {steps:UInt32} + 1) AS way
        FROM
        (
            SELECT session, ts, id, if($(journeys.Start), '\0', path) AS word
            FROM events
            WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
                AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
                AND (name IN ('page_view', '$pageview') OR $(journeys.Start))
                AND session IN ($(journeys.Sessions))
        )
        GROUP BY session
        HAVING first > 0
    )
)
GROUP BY step, value, next
ORDER BY step, sessions DESC, value, next
LIMIT 2000 BY step
