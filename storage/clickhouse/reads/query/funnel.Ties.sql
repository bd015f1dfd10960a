-- The order of the events of one person at one instant: the steps that they take, one bit each, sorted by the ids of
-- the events. Instants are milliseconds since 1970; every requests all of them. Key: environment, ts. Rows read: the
-- events at the instants, or the events of the window; returned: one per person and instant with more than one event.
SELECT person, at, arrayMap(event -> event.2, arraySort(groupArray((id, steps)))) AS ordered
FROM
(
    SELECT $(person.Hash) AS person, toUnixTimestamp64Milli(ts) AS at, id, toUInt16($(steps)) AS steps
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
        AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {until:DateTime64(3, 'UTC')}
        AND ({every:Bool} OR ts IN (SELECT fromUnixTimestamp64Milli(arrayJoin({instants:Array(Int64)}), 'UTC')))
        AND $(steps) != 0
)
GROUP BY person, at
HAVING count() > 1
