-- The metrics, series and ids of the points with deduplication that were received in a span of time: XXH3 and XXH64 of
-- the id, or else 0 and the instant. Key: none; the index received skips the granules outside the span. Rows returned:
-- one per environment, with arrays of at most some 10^6 in all.
SELECT
    environment,
    groupArray(xxh3(toString(name))) AS names,
    groupArray(series) AS series_numbers,
    groupArray(if(id != '', xxh3(id), 0)) AS ids,
    groupArray(if(id != '', xxHash64(id), toUInt64(toUnixTimestamp64Milli(ts)))) AS others
FROM metric_points
WHERE received_at >= {since:DateTime64(3, 'UTC')} AND received_at < {until:DateTime64(3, 'UTC')}
    AND block != {block:UInt64} AND (id != '' OR once)
GROUP BY environment
