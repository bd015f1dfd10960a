-- Like funnel.Ties, if visitors are linked. Key: environment, ts; environment of links and roots. Rows read: the
-- events at the instants, or the events of the window, and the links; returned: one per person and instant with more
-- than one event.
SELECT
    if(empty(l.spans), e.visitor, l.spans[greatest(1, arrayCount(span -> span.1 <= e.at, l.spans))].2) AS person, at,
    arrayMap(event -> event.2, arraySort(groupArray((id, steps)))) AS ordered
FROM
(
    SELECT $(person.Hash) AS visitor, toUnixTimestamp64Milli(ts) AS at, id, toUInt16($(steps)) AS steps
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
        AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {until:DateTime64(3, 'UTC')}
        AND ({every:Bool} OR ts IN (SELECT fromUnixTimestamp64Milli(arrayJoin({instants:Array(Int64)}), 'UTC')))
        AND $(steps) != 0
) AS e
LEFT JOIN ($(persons.Links)) AS l ON l.visitor = e.visitor
GROUP BY person, at
HAVING count() > 1
