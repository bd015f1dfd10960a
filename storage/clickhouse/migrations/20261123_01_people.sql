-- A person is a set of visitors that links and roots connect. The row of a person is the fold of the rows of these
-- visitors. Bots are left out, except for their identify and alias events, because servers identify people with
-- programs that look like bots.
--
-- The number of events of each visitor and the times of the first and the last one. A row lives as long as any event
-- of its visitor.
CREATE TABLE IF NOT EXISTS profiles
(
    environment UInt64 CODEC(LZ4),
    visitor     UInt64 CODEC(LZ4),
    first_seen  SimpleAggregateFunction(min, DateTime64(3, 'UTC')) CODEC(LZ4),
    last_seen   SimpleAggregateFunction(max, DateTime64(3, 'UTC')) CODEC(LZ4),
    events      SimpleAggregateFunction(sum, UInt64) CODEC(T64, LZ4),
    pageviews   SimpleAggregateFunction(sum, UInt64) CODEC(T64, LZ4),
    expires     SimpleAggregateFunction(max, Date) CODEC(LZ4)
)
ENGINE = AggregatingMergeTree
ORDER BY (environment, visitor)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024;

-- The id of a visitor and the sources of its visits. The rows come from events that began a session when they arrived.
-- The first event of every session is one of them, so few rows pass the view. The job that clears the remains of
-- expired profiles also clears these rows and the rows of traits and links.
CREATE TABLE IF NOT EXISTS arrivals
(
    environment UInt64 CODEC(LZ4),
    visitor     UInt64 CODEC(LZ4),
    id          SimpleAggregateFunction(any, String) CODEC(ZSTD(1)),
    sessions    AggregateFunction(uniqExact, UInt64) CODEC(ZSTD(1)),
    -- Source, medium, campaign, referrer, URL and time of the first and of the last visit.
    first_touch AggregateFunction(argMinIf, Tuple(String, String, String, String, String, Int64), Tuple(DateTime64(3, 'UTC'), String), UInt8) CODEC(ZSTD(1)),
    last_touch  AggregateFunction(argMaxIf, Tuple(String, String, String, String, String, Int64), Tuple(DateTime64(3, 'UTC'), String), UInt8) CODEC(ZSTD(1)),
    -- Country, region, city, device, browser, system and time of the last visit.
    place       AggregateFunction(argMaxIf, Tuple(String, String, String, String, String, String, Int64), Tuple(DateTime64(3, 'UTC'), String), UInt8) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (environment, visitor)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024;

-- The facts that events report about visitors. If the latest event decides a value, the column has the greatest of
-- texts that begin with the milliseconds of their event in 14 digits. The order in which events arrive thus does not
-- matter, and the greater value counts for events of the same instant. traits are the traits of identify as JSON, and
-- once are the traits with their first values.
CREATE TABLE IF NOT EXISTS traits
(
    environment UInt64 CODEC(LZ4),
    visitor     UInt64 CODEC(LZ4),
    -- 1 if the visitor was the distinct id of an identify, signed up, or gave an e-mail address.
    identified  SimpleAggregateFunction(max, UInt8) CODEC(LZ4),
    signed_up   SimpleAggregateFunction(max, UInt8) CODEC(LZ4),
    mailed      SimpleAggregateFunction(max, UInt8) CODEC(LZ4),
    email       SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    name        SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    company     SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    traits      SimpleAggregateFunction(maxMap, Map(String, String)) CODEC(ZSTD(1)),
    once        SimpleAggregateFunction(minMap, Map(String, String)) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (environment, visitor)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024;

-- The time at which an anonymous id was first identified as a known id. A row of an id with itself means that the id
-- is known, as the distinct id of an identify.
CREATE TABLE IF NOT EXISTS links
(
    environment UInt64 CODEC(LZ4),
    anonymous   UInt64 CODEC(LZ4),
    known       UInt64 CODEC(LZ4),
    first       SimpleAggregateFunction(min, DateTime64(3, 'UTC')) CODEC(LZ4)
)
ENGINE = AggregatingMergeTree
ORDER BY (environment, anonymous, known)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024;

-- Two visitors that are one person, after an alias or a decision of a member. The smaller number comes first.
CREATE TABLE IF NOT EXISTS aliases
(
    environment UInt64 CODEC(LZ4),
    low         UInt64 CODEC(LZ4),
    high        UInt64 CODEC(LZ4),
    first       SimpleAggregateFunction(min, DateTime64(3, 'UTC')) CODEC(LZ4)
)
ENGINE = AggregatingMergeTree
ORDER BY (environment, low, high)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024;

-- The visitor that represents all visitors that aliases connect, directly or through others. It is the one with the
-- smallest number. edges is the number of aliases that were known when it was found. Aliases are never removed, so a
-- row with more edges is newer, and rows with equal edges are the same.
CREATE TABLE IF NOT EXISTS roots
(
    environment UInt64 CODEC(LZ4),
    visitor     UInt64 CODEC(LZ4),
    root        UInt64 CODEC(LZ4),
    edges       UInt32 CODEC(LZ4)
)
ENGINE = ReplacingMergeTree(edges)
ORDER BY (environment, visitor)
SETTINGS non_replicated_deduplication_window = 0, index_granularity = 1024;

-- The visitors that reached any goal of their application, as the hourly rules found. A visitor stays here after a
-- goal is removed.
CREATE TABLE IF NOT EXISTS activations
(
    environment UInt64 CODEC(LZ4),
    visitor     UInt64 CODEC(LZ4),
    first       SimpleAggregateFunction(min, DateTime64(3, 'UTC')) CODEC(LZ4)
)
ENGINE = AggregatingMergeTree
ORDER BY (environment, visitor)
SETTINGS non_replicated_deduplication_window = 0, index_granularity = 1024;

-- Adds the rows from before this migration. The views are created last, so nothing counts twice if the migration is
-- repeated. While it runs, no other node may store events.
TRUNCATE TABLE profiles;

INSERT INTO profiles
SELECT environment, visitor, min(ts) AS first_seen, max(ts) AS last_seen, count() AS events, countIf(name IN ('page_view', '$pageview')) AS pageviews, max(expires) AS expires
FROM events
WHERE NOT is_bot OR name IN ('$identify', '$alias')
GROUP BY environment, visitor
SETTINGS max_bytes_before_external_group_by = 500000000;

CREATE MATERIALIZED VIEW IF NOT EXISTS profiles_of_events TO profiles AS
SELECT environment, visitor, min(ts) AS first_seen, max(ts) AS last_seen, count() AS events, countIf(name IN ('page_view', '$pageview')) AS pageviews, max(expires) AS expires
FROM events
WHERE NOT is_bot OR name IN ('$identify', '$alias')
GROUP BY environment, visitor;

CREATE MATERIALIZED VIEW IF NOT EXISTS arrivals_of_events TO arrivals AS
SELECT
    environment,
    visitor,
    any(if(distinct_id != '', distinct_id, anonymous_id)) AS id,
    uniqExactState(session) AS sessions,
    argMinIfState((toString(source), toString(medium), toString(utm_campaign), referrer, url, toUnixTimestamp64Milli(ts)), (ts, events.id), name NOT IN ('$identify', '$alias')) AS first_touch,
    argMaxIfState((toString(source), toString(medium), toString(utm_campaign), referrer, url, toUnixTimestamp64Milli(ts)), (ts, events.id), name NOT IN ('$identify', '$alias')) AS last_touch,
    argMaxIfState((toString(country), toString(region), toString(city), toString(device), toString(browser), toString(os), toUnixTimestamp64Milli(ts)), (ts, events.id), name NOT IN ('$identify', '$alias')) AS place
FROM events
WHERE (NOT is_bot OR name IN ('$identify', '$alias')) AND toUnixTimestamp64Milli(ts) = toUnixTimestamp64Milli(session_started) - session_before
GROUP BY environment, visitor;

CREATE MATERIALIZED VIEW IF NOT EXISTS traits_of_events TO traits AS
SELECT
    environment,
    visitor,
    max(told AND known) AS identified,
    max(NOT told) AS signed_up,
    max(mapContains(said, 'email') AND said['email'] NOT IN ('null', '""')) AS mailed,
    max(if(mapContains(said, 'email'), concat(stamp, JSONExtractString(said['email'])), '')) AS email,
    max(multiIf(mapContains(said, 'name'), concat(stamp, JSONExtractString(said['name'])),
        mapContains(said, 'firstName') OR mapContains(said, 'lastName'), concat(stamp, trim(concat(JSONExtractString(said['firstName']), ' ', JSONExtractString(said['lastName'])))), '')) AS name,
    max(if(mapContains(said, 'company'), concat(stamp, if(JSONType(said['company']) = 'Object', JSONExtractString(said['company'], 'name'), JSONExtractString(said['company']))), '')) AS company,
    maxMap(mapApply((k, v) -> (k, concat(stamp, v)), said)) AS traits,
    minMap(mapApply((k, v) -> (k, concat(stamp, v)), first)) AS once
FROM
(
    SELECT
        environment, visitor,
        distinct_id != '' AS known,
        name = '$identify' AS told,
        leftPad(toString(greatest(toUnixTimestamp64Milli(ts), 0)), 14, '0') AS stamp,
        CAST(if(told, arrayFilter(pair -> NOT startsWith(pair.1, '$set') AND length(pair.2) <= 2048, arrayConcat(JSONExtractKeysAndValuesRaw(properties), JSONExtractKeysAndValuesRaw(properties, '$set'))), []), 'Map(String, String)') AS said,
        CAST(if(told, arrayFilter(pair -> length(pair.2) <= 2048, JSONExtractKeysAndValuesRaw(properties, '$set_once')), []), 'Map(String, String)') AS first
    FROM events
    WHERE name = '$identify' OR name = 'signup' AND NOT is_bot
)
GROUP BY environment, visitor;

CREATE MATERIALIZED VIEW IF NOT EXISTS links_of_events TO links AS
SELECT environment, pair.1 AS anonymous, pair.2 AS known, min(ts) AS first
FROM
(
    SELECT environment, ts, arrayJoin(if(anonymous_id = '', [(visitor, visitor)], [(visitor, visitor), (cityHash64(anonymous_id), visitor)])) AS pair
    FROM events
    WHERE name = '$identify' AND distinct_id != ''
)
GROUP BY environment, anonymous, known;

CREATE MATERIALIZED VIEW IF NOT EXISTS aliases_of_events TO aliases AS
SELECT environment, least(visitor, cityHash64(anonymous_id)) AS low, greatest(visitor, cityHash64(anonymous_id)) AS high, min(ts) AS first
FROM events
WHERE name = '$alias' AND distinct_id != '' AND anonymous_id != '' AND anonymous_id != distinct_id
GROUP BY environment, low, high;

-- Adds the rows from before this migration to the other tables. In them, a row may be folded twice without harm.
INSERT INTO arrivals
SELECT
    environment,
    visitor,
    any(if(distinct_id != '', distinct_id, anonymous_id)) AS id,
    uniqExactState(session) AS sessions,
    argMinIfState((toString(source), toString(medium), toString(utm_campaign), referrer, url, toUnixTimestamp64Milli(ts)), (ts, events.id), name NOT IN ('$identify', '$alias')) AS first_touch,
    argMaxIfState((toString(source), toString(medium), toString(utm_campaign), referrer, url, toUnixTimestamp64Milli(ts)), (ts, events.id), name NOT IN ('$identify', '$alias')) AS last_touch,
    argMaxIfState((toString(country), toString(region), toString(city), toString(device), toString(browser), toString(os), toUnixTimestamp64Milli(ts)), (ts, events.id), name NOT IN ('$identify', '$alias')) AS place
FROM events
WHERE (NOT is_bot OR name IN ('$identify', '$alias')) AND toUnixTimestamp64Milli(ts) = toUnixTimestamp64Milli(session_started) - session_before
GROUP BY environment, visitor
SETTINGS max_bytes_before_external_group_by = 500000000;

INSERT INTO traits
SELECT
    environment,
    visitor,
    max(told AND known) AS identified,
    max(NOT told) AS signed_up,
    max(mapContains(said, 'email') AND said['email'] NOT IN ('null', '""')) AS mailed,
    max(if(mapContains(said, 'email'), concat(stamp, JSONExtractString(said['email'])), '')) AS email,
    max(multiIf(mapContains(said, 'name'), concat(stamp, JSONExtractString(said['name'])),
        mapContains(said, 'firstName') OR mapContains(said, 'lastName'), concat(stamp, trim(concat(JSONExtractString(said['firstName']), ' ', JSONExtractString(said['lastName'])))), '')) AS name,
    max(if(mapContains(said, 'company'), concat(stamp, if(JSONType(said['company']) = 'Object', JSONExtractString(said['company'], 'name'), JSONExtractString(said['company']))), '')) AS company,
    maxMap(mapApply((k, v) -> (k, concat(stamp, v)), said)) AS traits,
    minMap(mapApply((k, v) -> (k, concat(stamp, v)), first)) AS once
FROM
(
    SELECT
        environment, visitor,
        distinct_id != '' AS known,
        name = '$identify' AS told,
        leftPad(toString(greatest(toUnixTimestamp64Milli(ts), 0)), 14, '0') AS stamp,
        CAST(if(told, arrayFilter(pair -> NOT startsWith(pair.1, '$set') AND length(pair.2) <= 2048, arrayConcat(JSONExtractKeysAndValuesRaw(properties), JSONExtractKeysAndValuesRaw(properties, '$set'))), []), 'Map(String, String)') AS said,
        CAST(if(told, arrayFilter(pair -> length(pair.2) <= 2048, JSONExtractKeysAndValuesRaw(properties, '$set_once')), []), 'Map(String, String)') AS first
    FROM events
    WHERE name = '$identify' OR name = 'signup' AND NOT is_bot
)
GROUP BY environment, visitor
SETTINGS max_bytes_before_external_group_by = 500000000;

INSERT INTO links
SELECT environment, pair.1 AS anonymous, pair.2 AS known, min(ts) AS first
FROM
(
    SELECT environment, ts, arrayJoin(if(anonymous_id = '', [(visitor, visitor)], [(visitor, visitor), (cityHash64(anonymous_id), visitor)])) AS pair
    FROM events
    WHERE name = '$identify' AND distinct_id != ''
)
GROUP BY environment, anonymous, known
SETTINGS max_bytes_before_external_group_by = 500000000;

INSERT INTO aliases
SELECT environment, least(visitor, cityHash64(anonymous_id)) AS low, greatest(visitor, cityHash64(anonymous_id)) AS high, min(ts) AS first
FROM events
WHERE name = '$alias' AND distinct_id != '' AND anonymous_id != '' AND anonymous_id != distinct_id
GROUP BY environment, low, high
SETTINGS max_bytes_before_external_group_by = 500000000;

-- An index of the granules with events of a visitor, for timelines and for the events of shared visitors.
ALTER TABLE events ADD INDEX IF NOT EXISTS visitors visitor TYPE bloom_filter(0.01) GRANULARITY 1;
