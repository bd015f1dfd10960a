-- The properties of the newest events of a window, by event, the one with the most values first, and the number of all
-- properties. Key: environment, ts. Rows read: the newest {events}; returned: at most limit.
SELECT
    event,
    key,
    uniqCombined(raw) AS number,
    arraySort(groupUniqArray(multiIf(
        startsWith(raw, '"'), 'string', startsWith(raw, '{'), 'object', startsWith(raw, '['), 'array',
        raw IN ('true', 'false'), 'boolean', raw = 'null', 'null', 'number'))) AS types,
    count() OVER () AS keys
FROM
(
    SELECT event, pair.1 AS key, pair.2 AS raw
    FROM
    (
        SELECT name AS event, properties FROM events
        WHERE environment = {environment:UInt64} AND ts >= {since:DateTime64(3, 'UTC')} AND name != {besides:String}
        ORDER BY ts DESC
        LIMIT {events:UInt32}
    )
    ARRAY JOIN JSONExtractKeysAndValuesRaw(properties) AS pair
)
GROUP BY event, key
ORDER BY number DESC, event, key
LIMIT {limit:UInt32}
SETTINGS max_rows_to_group_by = 10000, group_by_overflow_mode = 'any'
