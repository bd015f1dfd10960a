-- The names of events in a window with their counts, their visitors and the time they were last seen, the most
-- frequent first. Key: environment, slot; the edges read events by environment, ts. Rows read: one per slot, name and
-- visitor; returned: at most limit.
SELECT
    name,
    sum(occurred) AS total,
    uniqExact(visitor) AS users,
    toUnixTimestamp64Milli(max(seen)) AS last_seen_ms
FROM
(
    SELECT toString($(name)) AS name, events AS occurred, counted AS visitor, last_seen AS seen
    FROM names
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
        AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')}
    UNION ALL
    SELECT toString($(name)) AS name, toUInt64(1) AS occurred,
        counted AS visitor, ts AS seen
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND $(window.Edges)
)
GROUP BY name
HAVING {first_page:Bool} OR total < {after_count:UInt64} OR (total = {after_count:UInt64} AND name > {after_name:String})
ORDER BY total DESC, name
LIMIT {limit:UInt32}
