-- Every accepted error, once. Errors are inserted in the same blocks as events, under the same tokens. issue is a
-- 64-bit number, computed from the environment and the fingerprint. frames and breadcrumbs are JSON lists, and tags
-- and extra are JSON objects. Each of them is empty if nothing was sent.
CREATE TABLE IF NOT EXISTS occurrences
(
    environment     UInt64 CODEC(ZSTD(1)),
    issue           UInt64 CODEC(ZSTD(1)),
    ts              DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    received_at     DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    id              String CODEC(ZSTD(1)),
    fingerprint     LowCardinality(String) CODEC(ZSTD(1)),
    level           LowCardinality(String) CODEC(ZSTD(1)),
    name            LowCardinality(String) CODEC(ZSTD(1)),
    message         String CODEC(ZSTD(1)),
    culprit         LowCardinality(String) CODEC(ZSTD(1)),
    handled         Bool CODEC(ZSTD(1)),
    mechanism       LowCardinality(String) CODEC(ZSTD(1)),
    release         LowCardinality(String) CODEC(ZSTD(1)),
    stack           String CODEC(ZSTD(1)),
    frames          String CODEC(ZSTD(1)),
    breadcrumbs     String CODEC(ZSTD(1)),
    tags            String CODEC(ZSTD(1)),
    extra           String CODEC(ZSTD(1)),
    request_method  LowCardinality(String) CODEC(ZSTD(1)),
    request_url     String CODEC(ZSTD(1)),
    request_status  UInt16 CODEC(ZSTD(1)),
    url             String CODEC(ZSTD(1)),
    path            LowCardinality(String) CODEC(ZSTD(1)),
    referrer        String CODEC(ZSTD(1)),
    person_id       String CODEC(ZSTD(1)),
    session_id      String CODEC(ZSTD(1)),
    distinct_id     String CODEC(ZSTD(1)),
    anonymous_id    String CODEC(ZSTD(1)),
    browser         LowCardinality(String) CODEC(ZSTD(1)),
    browser_version LowCardinality(String) CODEC(ZSTD(1)),
    os              LowCardinality(String) CODEC(ZSTD(1)),
    device          LowCardinality(String) CODEC(ZSTD(1)),
    country         LowCardinality(String) CODEC(ZSTD(1)),
    region          LowCardinality(String) CODEC(ZSTD(1)),
    city            LowCardinality(String) CODEC(ZSTD(1)),
    locale          LowCardinality(String) CODEC(ZSTD(1)),
    app_version     LowCardinality(String) CODEC(ZSTD(1)),
    block           UInt64 CODEC(ZSTD(1)),
    expires         Date CODEC(ZSTD(1)),
    INDEX received received_at TYPE minmax GRANULARITY 1,
    INDEX ids id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(ts)
PRIMARY KEY (environment, issue, ts)
ORDER BY (environment, issue, ts, id)
TTL expires
-- A row has about 8 KiB, so the number of bytes limits the granules, and a page of summaries reads few of them.
SETTINGS non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 268435456, index_granularity = 1024;

-- The description of an issue and the number of its occurrences, until its last occurrence expires. The number of
-- users is exact up to some thousands and within 1 % beyond that, in bounded memory.
CREATE TABLE IF NOT EXISTS issues
(
    environment   UInt64 CODEC(ZSTD(1)),
    issue         UInt64 CODEC(ZSTD(1)),
    fingerprint   SimpleAggregateFunction(any, String) CODEC(ZSTD(1)),
    first_seen    SimpleAggregateFunction(min, DateTime64(3, 'UTC')) CODEC(ZSTD(1)),
    last_seen     SimpleAggregateFunction(max, DateTime64(3, 'UTC')) CODEC(ZSTD(1)),
    events        SimpleAggregateFunction(sum, UInt64) CODEC(ZSTD(1)),
    users         AggregateFunction(uniqCombined64If(17), UInt64, UInt8) CODEC(ZSTD(1)),
    -- The name, the start of the message, the culprit and the level of the latest occurrence.
    latest        AggregateFunction(argMax, Tuple(String, String, String, String), Tuple(DateTime64(3, 'UTC'), String)) CODEC(ZSTD(1)),
    release_first AggregateFunction(argMinIf, String, Tuple(DateTime64(3, 'UTC'), String), UInt8) CODEC(ZSTD(1)),
    release_last  AggregateFunction(argMaxIf, String, Tuple(DateTime64(3, 'UTC'), String), UInt8) CODEC(ZSTD(1)),
    expires       SimpleAggregateFunction(max, Date) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (environment, issue)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024;

CREATE MATERIALIZED VIEW IF NOT EXISTS issues_of_occurrences TO issues AS
SELECT
    environment,
    issue,
    any(toString(o.fingerprint)) AS fingerprint,
    min(ts) AS first_seen,
    max(ts) AS last_seen,
    count() AS events,
    uniqCombined64IfState(17)(cityHash64(if(distinct_id != '', distinct_id, anonymous_id)), distinct_id != '' OR anonymous_id != '') AS users,
    argMaxState(tuple(toString(name), substringUTF8(message, 1, 300), toString(culprit), toString(level)), tuple(ts, id)) AS latest,
    argMinIfState(toString(release), tuple(ts, id), release != '') AS release_first,
    argMaxIfState(toString(release), tuple(ts, id), release != '') AS release_last,
    max(o.expires) AS expires
FROM occurrences AS o
GROUP BY environment, issue;

-- The user, the issue and the time of each occurrence, in narrow rows in time order, for windows of any length. A user
-- is a 64-bit hash, or 0 if the occurrence names no user.
CREATE TABLE IF NOT EXISTS issue_users
(
    environment UInt64 CODEC(ZSTD(1)),
    ts          DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    issue       UInt64 CODEC(ZSTD(1)),
    user        UInt64 CODEC(ZSTD(1)),
    expires     Date CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (environment, ts)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS issue_users_of_occurrences TO issue_users AS
SELECT
    environment,
    ts,
    issue,
    if(distinct_id = '' AND anonymous_id = '', 0, cityHash64(if(distinct_id != '', distinct_id, anonymous_id))) AS user,
    expires
FROM occurrences;

-- The releases in which an issue occurred.
CREATE TABLE IF NOT EXISTS issue_releases
(
    environment UInt64 CODEC(ZSTD(1)),
    release     String CODEC(ZSTD(1)),
    issue       UInt64 CODEC(ZSTD(1)),
    events      SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1)),
    first_seen  SimpleAggregateFunction(min, DateTime64(3, 'UTC')) CODEC(ZSTD(1)),
    last_seen   SimpleAggregateFunction(max, DateTime64(3, 'UTC')) CODEC(ZSTD(1)),
    expires     SimpleAggregateFunction(max, Date) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
PRIMARY KEY (environment, release)
ORDER BY (environment, release, issue)
TTL expires
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS issue_releases_of_occurrences TO issue_releases AS
SELECT
    environment,
    toString(o.release) AS release,
    issue,
    count() AS events,
    min(ts) AS first_seen,
    max(ts) AS last_seen,
    max(o.expires) AS expires
FROM occurrences AS o
WHERE o.release != ''
GROUP BY environment, release, issue;
