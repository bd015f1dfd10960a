-- The paths, sources, countries and devices that most visitors showed since an instant; an
-- event without a page counts for no path. Key: environment, ts. Rows read: the events of
-- five minutes; returned: at most limit per kind.
SELECT kind, value, uniqExact(visitor) AS visitors
FROM
(
    SELECT
        if(distinct_id != '', distinct_id, anonymous_id) AS visitor,
        arrayJoin([('path', toString(path)), ('source', toString(source)),
            ('country', toString(country)), ('device', toString(device))]) AS shown,
        shown.1 AS kind,
        shown.2 AS value
    FROM events
    WHERE environment = {environment:UInt64} AND NOT is_bot
        AND ts > {since:DateTime64(3, 'UTC')} AND ts <= {until:DateTime64(3, 'UTC')}
)
WHERE value != ''
GROUP BY kind, value
ORDER BY kind, visitors DESC, value
LIMIT {limit:UInt32} BY kind
