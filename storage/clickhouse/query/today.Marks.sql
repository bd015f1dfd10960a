-- today.Blocks, and what the new blocks add to sessions (kind 2): the path that marks each
-- with its place among the events, empty where there is none. What happened after the end
-- of the window comes apart, by its instant (at). Key: as today.Blocks. Rows returned: one per session and instant.
$(today.Blocks)
UNION ALL
SELECT toUInt8(2) AS kind, toUInt64(0) AS number, count() AS times, toUnixTimestamp64Milli(max(ts)) AS latest,
    if(ts < {to:DateTime64(3, 'UTC')}, 0, toUnixTimestamp64Milli(ts)) AS at,
    toString($(mark)) AS value,
    countIf(name IN ('page_view', '$pageview')) AS views,
    reinterpret([any(visitor)], 'String') AS visitors,
    reinterpret([session], 'String') AS sessions,
    $(place) AS place
FROM events
WHERE $(today.Fresh)
GROUP BY session, at
