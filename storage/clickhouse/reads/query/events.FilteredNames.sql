-- Like events.Names, for the events that pass a filter. Key: environment, ts. Rows read: the events of at most 90
-- days; returned: at most limit.
SELECT
    toString($(name)) AS word,
    count() AS total,
    uniqExact(counted) AS users,
    toUnixTimestamp64Milli(max(ts)) AS last_seen_ms
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
    AND ($(where))
GROUP BY word
HAVING {first_page:Bool} OR total < {after_count:UInt64} OR (total = {after_count:UInt64} AND word > {after_name:String})
ORDER BY total DESC, word
LIMIT {limit:UInt32}
