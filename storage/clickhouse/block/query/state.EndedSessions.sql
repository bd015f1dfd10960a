-- The names of the sessions with an event received in a span of time: XXH3 of the visitor and
-- of the session. Key: none; the index received leaves the granules of the span. Rows returned:
-- one per session, streamed.
SELECT DISTINCT
    environment,
    bitXor(xxh3(if(distinct_id != '', distinct_id, anonymous_id)), life) AS visitor_hash,
    is_bot,
    xxh3(session_id) AS session_hash
FROM events
WHERE received_at >= {since:DateTime64(3, 'UTC')} AND received_at < {until:DateTime64(3, 'UTC')}
    AND block != {block:UInt64}
