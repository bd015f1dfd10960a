-- Like today.Values, for sessions instead of values: the path that marks each session and its position among the
-- events, both empty without a page view. Key: that of today.Values. Rows returned: one per recent block, session and
-- instant.
SELECT
    if(received_at < {named_from:DateTime64(3, 'UTC')}, 0, block) AS number,
    ts >= {day_from:DateTime64(3, 'UTC')} AND ts < {day_to:DateTime64(3, 'UTC')} AS inside,
    if(ts < {to:DateTime64(3, 'UTC')}, 0, toUnixTimestamp64Milli(ts)) AS at,
    toString($(mark)) AS value,
    count() AS times,
    toUnixTimestamp64Milli(max(received_at)) AS arrived,
    toUnixTimestamp64Milli(max(ts)) AS latest,
    countIf(name IN ('page_view', '$pageview')) AS views,
    reinterpret(arraySlice(groupUniqArrayIf(counted, session_deeds < 16), 1, 1), 'String') AS visitors,
    reinterpret(groupUniqArrayIf(session, session_deeds < 16), 'String') AS sessions,
    $(place) AS place,
    $(today.Changes) AS changes
FROM events
WHERE $(today.Fresh)
GROUP BY number, inside, at, session
