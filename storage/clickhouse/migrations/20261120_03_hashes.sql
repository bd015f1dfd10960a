-- The visitors and sessions of events, as the numbers in visits. Reads then neither compare nor count strings. Older
-- parts compute the numbers at each read.
ALTER TABLE events
    ADD COLUMN IF NOT EXISTS visitor UInt64
        MATERIALIZED cityHash64(if(distinct_id != '', distinct_id, anonymous_id)) CODEC(LZ4) AFTER session_id,
    ADD COLUMN IF NOT EXISTS session UInt64
        MATERIALIZED cityHash64(if(distinct_id != '', distinct_id, anonymous_id), session_id) CODEC(LZ4) AFTER visitor;

-- LZ4 reads twice as fast as ZSTD and needs a quarter more space. Filtered reads scan these columns completely.
ALTER TABLE events
    MODIFY COLUMN environment CODEC(LZ4),
    MODIFY COLUMN ts CODEC(Delta, LZ4),
    MODIFY COLUMN name CODEC(LZ4),
    MODIFY COLUMN path CODEC(LZ4),
    MODIFY COLUMN referrer_domain CODEC(LZ4),
    MODIFY COLUMN session_started CODEC(Delta, LZ4),
    MODIFY COLUMN bounce_delta CODEC(LZ4),
    MODIFY COLUMN duration_delta CODEC(T64, LZ4),
    MODIFY COLUMN source CODEC(LZ4),
    MODIFY COLUMN medium CODEC(LZ4),
    MODIFY COLUMN utm_source CODEC(LZ4),
    MODIFY COLUMN utm_medium CODEC(LZ4),
    MODIFY COLUMN utm_campaign CODEC(LZ4),
    MODIFY COLUMN utm_term CODEC(LZ4),
    MODIFY COLUMN utm_content CODEC(LZ4),
    MODIFY COLUMN country CODEC(LZ4),
    MODIFY COLUMN region CODEC(LZ4),
    MODIFY COLUMN city CODEC(LZ4),
    MODIFY COLUMN device CODEC(LZ4),
    MODIFY COLUMN browser CODEC(LZ4),
    MODIFY COLUMN os CODEC(LZ4),
    MODIFY COLUMN is_bot CODEC(LZ4);

ALTER TABLE traffic
    MODIFY COLUMN environment CODEC(LZ4),
    MODIFY COLUMN is_bot CODEC(LZ4);

ALTER TABLE visits
    MODIFY COLUMN environment CODEC(LZ4),
    MODIFY COLUMN slot CODEC(Delta, LZ4),
    MODIFY COLUMN is_bot CODEC(LZ4),
    MODIFY COLUMN visitor CODEC(LZ4),
    MODIFY COLUMN session CODEC(LZ4),
    MODIFY COLUMN events CODEC(T64, LZ4);

-- Views are replaced and never altered, see 20261122_10_repeated_blocks.
CREATE OR REPLACE MATERIALIZED VIEW visits_of_events TO visits AS
SELECT
    environment,
    toStartOfFifteenMinutes(ts) AS slot,
    is_bot,
    visitor,
    session,
    count() AS events,
    max(expires) AS expires
FROM events
GROUP BY environment, slot, is_bot, visitor, session;

CREATE OR REPLACE MATERIALIZED VIEW names_of_events TO names AS
SELECT
    environment,
    toStartOfFifteenMinutes(ts) AS slot,
    is_bot,
    name,
    visitor,
    count() AS events,
    max(ts) AS last_seen,
    max(expires) AS expires
FROM events
GROUP BY environment, slot, is_bot, name, visitor;
