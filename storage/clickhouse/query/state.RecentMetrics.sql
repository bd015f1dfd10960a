-- The names of metrics and of the points that were received in a span of time, where repetitions
-- are known: by their id, or else by series and instant. Key: none; the index received leaves the
-- granules of the span. Rows returned: one per environment, with arrays of at most some 10^6 in all.
SELECT
    environment,
    groupArray(xxh3(toString(name))) AS names,
    groupArray(if(id != '', xxh3(id), series)) AS ids,
    groupArray(if(id != '', xxHash64(id), toUInt64(toUnixTimestamp64Milli(ts)))) AS others
FROM metric_points
WHERE received_at >= {since:DateTime64(3, 'UTC')} AND received_at < {until:DateTime64(3, 'UTC')}
    AND block != {block:UInt64} AND (id != '' OR once)
GROUP BY environment
