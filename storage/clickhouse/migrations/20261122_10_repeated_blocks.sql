-- Migrations change views with CREATE OR REPLACE and never with ALTER … MODIFY QUERY. The engine recognises a repeated
-- write of a view by the token of the insert and by the name of the view in memory. After an ALTER, this name differs
-- from the name after the view was created or loaded. After the next start, the engine then no longer knows the tokens
-- from before. CREATE OR REPLACE preserves all tokens. An earlier version altered these two views.
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

-- Removes the events that names and visits counted twice, from a block that the first restart of a store interrupted.
-- The table events has these rows once. A 64-bit sum wraps around at 2^64, so adding a suitable number decreases it.
-- Nothing is added if rows are missing, because their block arrives again.
INSERT INTO names (environment, slot, is_bot, name, visitor, events, last_seen, expires)
SELECT environment, slot, is_bot, name, visitor, sum(kept) - sum(counted) AS events, max(seen) AS last_seen, max(until) AS expires
FROM
(
    SELECT environment, slot, is_bot, name, visitor, toUInt64(0) AS kept, t.events AS counted, t.last_seen AS seen, t.expires AS until
    FROM names AS t
    UNION ALL
    SELECT environment, toStartOfFifteenMinutes(ts) AS slot, is_bot, name, visitor, toUInt64(1) AS kept, toUInt64(0) AS counted, ts AS seen, e.expires AS until
    FROM events AS e
)
GROUP BY environment, slot, is_bot, name, visitor
HAVING sum(kept) < sum(counted)
SETTINGS max_bytes_before_external_group_by = 500000000, max_partitions_per_insert_block = 0;

INSERT INTO visits (environment, slot, is_bot, visitor, session, events, expires)
SELECT environment, slot, is_bot, visitor, session, sum(kept) - sum(counted) AS events, max(until) AS expires
FROM
(
    SELECT environment, slot, is_bot, visitor, session, toUInt64(0) AS kept, t.events AS counted, t.expires AS until
    FROM visits AS t
    UNION ALL
    SELECT environment, toStartOfFifteenMinutes(ts) AS slot, is_bot, visitor, session, toUInt64(1) AS kept, toUInt64(0) AS counted, e.expires AS until
    FROM events AS e
)
GROUP BY environment, slot, is_bot, visitor, session
HAVING sum(kept) < sum(counted)
SETTINGS max_bytes_before_external_group_by = 500000000, max_partitions_per_insert_block = 0;
