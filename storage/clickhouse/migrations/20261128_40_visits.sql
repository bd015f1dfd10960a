-- The thread of a row is the number of the events among which its visit was found. They are the events of a session id,
-- of a device, or of a known id. The thread of older rows is 0. The number of a visit follows its thread, so a login
-- does not change it. guest is the visitor for which the visit counts, or 0 if that is the visitor of the row.
ALTER TABLE events
    ADD COLUMN IF NOT EXISTS thread UInt64 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS guest UInt64 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS counted UInt64 ALIAS if(guest = 0, visitor, guest);

ALTER TABLE events
    MODIFY COLUMN session UInt64
        DEFAULT if(is_bot,
            cityHash64(if(distinct_id != '', distinct_id, anonymous_id), session_id, 'bot'),
            cityHash64(if(distinct_id != '', distinct_id, anonymous_id), session_id)) CODEC(LZ4);

ALTER TABLE visits
    ADD COLUMN IF NOT EXISTS guest UInt64 CODEC(ZSTD(1)),
    MODIFY ORDER BY (environment, slot, is_bot, visitor, session, guest);

ALTER TABLE visits ADD COLUMN IF NOT EXISTS counted UInt64 ALIAS if(guest = 0, visitor, guest);

ALTER TABLE names
    ADD COLUMN IF NOT EXISTS guest UInt64 CODEC(ZSTD(1)),
    MODIFY ORDER BY (environment, slot, is_bot, name, visitor, guest);

ALTER TABLE names ADD COLUMN IF NOT EXISTS counted UInt64 ALIAS if(guest = 0, visitor, guest);

-- A row with the bit 16 of event.SessionDeeds only identifies a person before a visit began. It has no session here.
CREATE OR REPLACE MATERIALIZED VIEW visits_of_events TO visits AS
SELECT
    environment,
    toStartOfFifteenMinutes(ts) AS slot,
    is_bot,
    visitor,
    if(session_deeds < 16, session, 0) AS session,
    guest,
    count() AS events,
    max(expires) AS expires
FROM events
GROUP BY environment, slot, is_bot, visitor, session, guest;

CREATE OR REPLACE MATERIALIZED VIEW names_of_events TO names AS
SELECT
    environment,
    toStartOfFifteenMinutes(ts) AS slot,
    is_bot,
    name,
    visitor,
    guest,
    count() AS events,
    max(ts) AS last_seen,
    max(expires) AS expires
FROM events
GROUP BY environment, slot, is_bot, name, visitor, guest;
