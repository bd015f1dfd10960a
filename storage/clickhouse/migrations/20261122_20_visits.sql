-- What a row carries of its session as of its event, so that the state of a session is read
-- from the latest rows of it: how long before session_started its first event was, how long
-- after the row's event its last one, what was engaged so far, and the bits of
-- svc.SessionDeeds. Rows from before have zeros.
ALTER TABLE events
    ADD COLUMN IF NOT EXISTS session_before Int64 CODEC(T64, ZSTD(1)) AFTER session_started,
    ADD COLUMN IF NOT EXISTS session_after Int64 CODEC(T64, ZSTD(1)) AFTER session_before,
    ADD COLUMN IF NOT EXISTS session_engaged Int64 CODEC(T64, ZSTD(1)) AFTER session_after,
    ADD COLUMN IF NOT EXISTS session_deeds UInt8 CODEC(ZSTD(1)) AFTER session_engaged;

-- The bots that call themselves a visitor make visits of their own, also where a client gives
-- both the same session.
ALTER TABLE events
    MODIFY COLUMN session UInt64
        MATERIALIZED if(is_bot,
            cityHash64(if(distinct_id != '', distinct_id, anonymous_id), session_id, 'bot'),
            cityHash64(if(distinct_id != '', distinct_id, anonymous_id), session_id)) CODEC(LZ4);
