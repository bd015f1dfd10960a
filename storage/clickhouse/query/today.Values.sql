-- today.Blocks, and what the new blocks add to the values of a dimension (kind 2), with who
-- stands behind it: visitors and sessions in eight little-endian bytes each. What happened
-- after the end of the window comes apart, by its instant (at). Key: as today.Blocks. Rows returned: one per value
-- and instant.
$(today.Blocks)
UNION ALL
SELECT toUInt8(2) AS kind, toUInt64(0) AS number, count() AS times, toUnixTimestamp64Milli(max(ts)) AS latest,
    if(ts < {to:DateTime64(3, 'UTC')}, 0, toUnixTimestamp64Milli(ts)) AS at,
    $(value) AS value,
    countIf(name IN ('page_view', '$pageview')) AS views,
    reinterpret(groupUniqArray(visitor), 'String') AS visitors,
    reinterpret(groupUniqArray(session), 'String') AS sessions,
    '' AS place
FROM events
WHERE $(today.Fresh)
GROUP BY value, at
