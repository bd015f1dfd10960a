-- The issues, visitors and ids of occurrences that were received in a span of time: XXH3 of the visitor, XXH3 and
-- XXH64 of the id. Key: none; the index received skips the granules outside the span. Rows returned: one per
-- environment, with arrays of at most some 10^6 in all.
SELECT
    groupArray(issue) AS issues,
    groupArray(xxh3(if(distinct_id != '', distinct_id, anonymous_id))) AS visitors,
    groupArray(xxh3(id)) AS ids,
    groupArray(xxHash64(id)) AS others
FROM occurrences
WHERE received_at >= {since:DateTime64(3, 'UTC')} AND received_at < {until:DateTime64(3, 'UTC')}
    AND block != {block:UInt64}
GROUP BY environment
