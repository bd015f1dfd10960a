-- The keys of the properties of events in a window, with types, distinct and frequent values, the most frequent
-- key first. Key: environment, ts. Rows read: the newest {events} of the window; returned: at most limit.
SELECT
    key,
    count() AS total,
    arraySort(groupUniqArray(type)) AS types,
    uniqCombined(raw) AS distinct_values,
    topKIf(10, 10, 'counts')(value, type IN ('string', 'number', 'boolean')) AS frequent
FROM
(
    SELECT
        $(key) AS key,
        pair.2 AS raw,
        multiIf(
            startsWith(raw, '"'), 'string', startsWith(raw, '{'), 'object', startsWith(raw, '['), 'array',
            raw IN ('true', 'false'), 'boolean', raw = 'null', 'null', 'number') AS type,
        leftUTF8(if(type = 'string', JSONExtractString(raw), raw), 200) AS plain,
        $(value) AS value
    FROM
    (
        SELECT arrayJoin(JSONExtractKeysAndValuesRaw(properties)) AS pair
        FROM
        (
            SELECT properties FROM events
            WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
                AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
                AND ({event:String} = '' OR name = {event:String}) AND name != {besides:String}
                AND ($(where))
            ORDER BY ts DESC
            LIMIT {events:UInt64}
        )
    )
)
WHERE positionCaseInsensitiveUTF8(key, {search:String}) > 0 OR {search:String} = ''
GROUP BY key
HAVING {first_page:Bool} OR total < {after_count:UInt64} OR (total = {after_count:UInt64} AND key > {after_key:String})
ORDER BY total DESC, key
LIMIT {limit:UInt32}
