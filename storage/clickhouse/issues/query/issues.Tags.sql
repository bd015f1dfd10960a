-- The distribution of tag values over the latest occurrences of an issue, including the fields that every occurrence
-- has. Key: environment, issue, ts. Rows read: at most sample, from the end; returned: at most values per tag.
SELECT tag.1 AS word, tag.2 AS value, count() AS occurred
FROM
(
    SELECT arrayJoin(arrayConcat(sent, arrayFilter(known -> NOT has(sent.1, known.1),
        [
            ('browser', toString(browser)), ('country', toString(country)), ('device', toString(device)),
            ('handled', if(handled, 'yes', 'no')), ('level', toString(level)), ('os', toString(os)), ('release', toString(release))
        ]))) AS tag
    FROM
    (
        SELECT JSONExtractKeysAndValues(tags, 'String') AS sent, browser, country, device, handled, level, os, release
        FROM occurrences
        WHERE environment = {environment:UInt64} AND issue IN {issues:Array(UInt64)}
        ORDER BY ts DESC
        LIMIT {sample:UInt32}
    )
)
WHERE value != ''
GROUP BY word, value
ORDER BY word, occurred DESC, value
LIMIT {per_tag:UInt32} BY word
