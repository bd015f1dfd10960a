-- The state of the session at the time of the event, so reads find the state of a session in its latest rows.
-- session_before is the time from the first event of the session to session_started. session_after is the time from
-- the event of the row to the last event. session_engaged is the engaged time so far, and session_deeds are the bits
-- of event.SessionDeeds. Older rows have zeros.
ALTER TABLE events
    ADD COLUMN IF NOT EXISTS session_before Int64 CODEC(T64, ZSTD(1)) AFTER session_started,
    ADD COLUMN IF NOT EXISTS session_after Int64 CODEC(T64, ZSTD(1)) AFTER session_before,
    ADD COLUMN IF NOT EXISTS session_engaged Int64 CODEC(T64, ZSTD(1)) AFTER session_after,
    ADD COLUMN IF NOT EXISTS session_deeds UInt8 CODEC(ZSTD(1)) AFTER session_engaged;

-- Bots with the id of a visitor have separate visits, even if the client sends the same session id for both.
ALTER TABLE events
    MODIFY COLUMN session UInt64
        MATERIALIZED if(is_bot,
            cityHash64(if(distinct_id != '', distinct_id, anonymous_id), session_id, 'bot'),
            cityHash64(if(distinct_id != '', distinct_id, anonymous_id), session_id)) CODEC(LZ4);
