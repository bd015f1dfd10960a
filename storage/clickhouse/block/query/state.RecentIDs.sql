-- The threads, visitors and ids of events that were received in a span of time: the thread, XXH3 of the visitor, XXH3
-- and XXH64 of the id. For rows from before threads existed, also XXH3 of the anonymous id and of the session id that
-- a client set, else 0. Key: none; the index received skips the granules outside the span. Rows returned: one per
-- environment, with arrays of at most some 10^6 in all.
SELECT
    environment,
    groupArray(thread) AS threads,
    groupArray(xxh3(if(distinct_id != '', distinct_id, anonymous_id))) AS visitors,
    groupArray(xxh3(id)) AS ids,
    groupArray(xxHash64(id)) AS others,
    groupArray(if(thread = 0 AND anonymous_id != '', xxh3(anonymous_id), 0)) AS devices,
    groupArray(if(thread = 0 AND session_id != '' AND NOT startsWith(session_id, 'ses_'), xxh3(session_id), 0)) AS sessions
FROM events
WHERE received_at >= {since:DateTime64(3, 'UTC')} AND received_at < {until:DateTime64(3, 'UTC')}
    AND block != {block:UInt64}
GROUP BY environment
