-- How many events a local day has (kind 0), and which blocks brought those that were not
-- read yet (kind 1). Part of today.Values and today.Marks. Key: environment, ts. Rows read:
-- the events of the day, three columns; returned: one, and one per new block.
SELECT toUInt8(0) AS kind, toUInt64(0) AS number, count() AS times, toInt64(0) AS latest, toInt64(0) AS at,
    '' AS value, toUInt64(0) AS views, '' AS visitors, '' AS sessions, '' AS place
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND ts >= {day_from:DateTime64(3, 'UTC')} AND ts < {day_to:DateTime64(3, 'UTC')}
UNION ALL
SELECT toUInt8(1) AS kind, block AS number, count() AS times, toUnixTimestamp64Milli(max(received_at)) AS latest, toInt64(0) AS at,
    '' AS value, toUInt64(0) AS views, '' AS visitors, '' AS sessions, '' AS place
FROM events
WHERE $(today.Fresh)
GROUP BY number
