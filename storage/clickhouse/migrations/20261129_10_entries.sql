-- The entry of a visit is its earliest event that does more than identify a person. Within one millisecond, it is the event with
-- the least cityHash64 of its id. inside is true for an event that was not the earliest so far when it arrived. ousted is the
-- visitor of the previous entry, if it is another visitor. own_origin is the origin that an entry itself states, if its visit has
-- another origin: source, medium, campaign and referrer as a JSON array. Older rows have the values that follow from their session.
ALTER TABLE events
    ADD COLUMN IF NOT EXISTS inside Bool
        DEFAULT guest != 0 OR session_deeds >= 16 OR toUnixTimestamp64Milli(ts) != toUnixTimestamp64Milli(session_started) - session_before CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS ousted UInt64 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS own_origin String CODEC(ZSTD(1));

-- The entries of the visits of a visitor. A visit belongs to the visitor of its entry, its owner. The least tuple is the entry, so
-- the order in which events arrive does not count. Only the events that were the earliest so far pass the view. The job that clears
-- the rows of expired profiles clears these rows.
CREATE TABLE IF NOT EXISTS entries
(
    environment UInt64 CODEC(LZ4),
    visitor     UInt64 CODEC(LZ4),
    session     UInt64 CODEC(LZ4),
    entry       SimpleAggregateFunction(min, Tuple(ms Int64, tie UInt64, owner UInt64, source String, medium String, campaign String, referrer String, url String,
                    country String, region String, city String, device String, browser String, os String)) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (environment, visitor, session)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 256;

CREATE MATERIALIZED VIEW IF NOT EXISTS entries_of_events TO entries AS
SELECT environment, one AS visitor, session, min((ms, tie, owner, source, medium, campaign, referrer, url, country, region, city, device, browser, os)) AS entry
FROM
(
    SELECT
        environment, session, arrayJoin(if(ousted = 0, [e.visitor], [e.visitor, ousted])) AS one,
        toUnixTimestamp64Milli(ts) AS ms, cityHash64(e.id) AS tie, e.visitor AS owner,
        JSONExtract(own_origin, 'Array(String)') AS own,
        if(empty(own), toString(e.source), own[1]) AS source, if(empty(own), toString(e.medium), own[2]) AS medium,
        if(empty(own), toString(utm_campaign), own[3]) AS campaign, if(empty(own), e.referrer, own[4]) AS referrer, url,
        toString(e.country) AS country, toString(e.region) AS region, toString(e.city) AS city, toString(e.device) AS device, toString(e.browser) AS browser, toString(e.os) AS os
    FROM events AS e
    WHERE NOT inside AND NOT is_bot AND name NOT IN ('$identify', '$alias')
)
GROUP BY environment, visitor, session;

-- The touches and the place of arrivals are read no more. They stay for visits from before this migration.
CREATE OR REPLACE MATERIALIZED VIEW arrivals_of_events TO arrivals AS
SELECT environment, visitor, any(if(distinct_id != '', distinct_id, anonymous_id)) AS id, uniqExactState(session) AS sessions
FROM events
WHERE (NOT is_bot OR name IN ('$identify', '$alias')) AND guest = 0 AND session_deeds < 16 AND toUnixTimestamp64Milli(ts) = toUnixTimestamp64Milli(session_started) - session_before
GROUP BY environment, visitor;

-- Adds the rows from before this migration. A row may be folded twice without harm.
INSERT INTO entries
SELECT environment, one AS visitor, session, min((ms, tie, owner, source, medium, campaign, referrer, url, country, region, city, device, browser, os)) AS entry
FROM
(
    SELECT
        environment, session, arrayJoin(if(ousted = 0, [e.visitor], [e.visitor, ousted])) AS one,
        toUnixTimestamp64Milli(ts) AS ms, cityHash64(e.id) AS tie, e.visitor AS owner,
        JSONExtract(own_origin, 'Array(String)') AS own,
        if(empty(own), toString(e.source), own[1]) AS source, if(empty(own), toString(e.medium), own[2]) AS medium,
        if(empty(own), toString(utm_campaign), own[3]) AS campaign, if(empty(own), e.referrer, own[4]) AS referrer, url,
        toString(e.country) AS country, toString(e.region) AS region, toString(e.city) AS city, toString(e.device) AS device, toString(e.browser) AS browser, toString(e.os) AS os
    FROM events AS e
    WHERE NOT inside AND NOT is_bot AND name NOT IN ('$identify', '$alias')
)
GROUP BY environment, visitor, session
SETTINGS max_bytes_before_external_group_by = 500000000;

-- The first visits of which only arrivals is left, and the last visits of visitors without another entry.
INSERT INTO entries
SELECT
    environment, visitor, toUInt64(0) AS session,
    (f.6, toUInt64(0), visitor, f.1, f.2, f.3, f.4, f.5, if(same, p.1, ''), if(same, p.2, ''), if(same, p.3, ''), if(same, p.4, ''), if(same, p.5, ''), if(same, p.6, '')) AS entry
FROM (SELECT environment, visitor, argMinIfMerge(first_touch) AS f, argMaxIfMerge(place) AS p, p.7 = f.6 AS same FROM arrivals GROUP BY environment, visitor)
WHERE f.6 != 0 AND (environment, visitor, f.6) NOT IN (SELECT environment, visitor, min(entry.ms) FROM entries GROUP BY environment, visitor)
SETTINGS max_bytes_before_external_group_by = 500000000;

INSERT INTO entries
SELECT environment, visitor, toUInt64(1) AS session, (l.6, toUInt64(0), visitor, l.1, l.2, l.3, l.4, l.5, p.1, p.2, p.3, p.4, p.5, p.6) AS entry
FROM (SELECT environment, visitor, argMaxIfMerge(last_touch) AS l, argMaxIfMerge(place) AS p FROM arrivals GROUP BY environment, visitor)
WHERE l.6 != 0 AND (environment, visitor) NOT IN (SELECT environment, visitor FROM entries WHERE session != 0)
SETTINGS max_bytes_before_external_group_by = 500000000;
