-- The events of one environment since an instant for the live view, without bots. Key: environment, ts. Rows read and
-- returned: the events of five minutes, streamed.
SELECT toUnixTimestamp64Milli(ts) AS ms, counted, toString(name) AS name, toString(path) AS path,
    toString(source) AS source, toString(country) AS country, toString(device) AS device, block
FROM events
WHERE environment = {environment:UInt64} AND NOT is_bot AND session_deeds < 16 AND ts > {since:DateTime64(3, 'UTC')}
