-- The names of the sessions with an event received in a span of time, except sessions that only set identities: the
-- thread (for rows from before threads existed, XXH3 of the visitor), the number and XXH3 of the id. Key: none; the
-- index received skips the granules outside the span. Rows returned: one per session, streamed.
SELECT DISTINCT
    environment,
    thread,
    if(thread = 0, xxh3(if(distinct_id != '', distinct_id, anonymous_id)), 0) AS visitor_hash,
    if(thread != 0 AND distinct_id != '' AND anonymous_id != '', other_life, life) AS thread_life,
    is_bot,
    session,
    xxh3(session_id) AS session_hash
FROM events
WHERE received_at >= {since:DateTime64(3, 'UTC')} AND received_at < {until:DateTime64(3, 'UTC')}
    AND block != {block:UInt64} AND session_deeds < 16
