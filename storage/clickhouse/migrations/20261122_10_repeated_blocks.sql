-- Views are changed by CREATE OR REPLACE, never by ALTER … MODIFY QUERY. What a view writes
-- is recognised when it comes again by the token of the insert and by the name of the view, as the
-- engine has it in memory. After an ALTER that name is another one than after the making and the
-- loading of a view, so a token from before the next start is not known after it. CREATE OR REPLACE
-- keeps all tokens. These two were altered where a store was made by an earlier version.
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

-- Takes back what names and visits counted twice: a block that was interrupted by the first
-- restart of a store. The rows are in events once. A sum of 64 bits goes down by what is added
-- modulo 2^64. Nothing is added where rows are missing: their block comes again.
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
