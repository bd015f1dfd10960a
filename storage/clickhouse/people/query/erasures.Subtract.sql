-- Subtracts the events of visitors from the sums over all visitors, to which views added them. The deduplication token
-- of the statement makes it happen once. Key: environment; rows read: the numbers of the visitors of all events, and
-- the events of these visitors.
INSERT INTO traffic
SELECT
    environment, part.1 AS slot, is_bot,
    sum(part.2) AS events, sum(part.3) AS pageviews, sum(part.4) AS bounces, sum(part.5) AS duration_ms,
    max(latest) AS expires
FROM
(
    SELECT
        environment,
        toStartOfFifteenMinutes(ts) AS active,
        toStartOfFifteenMinutes(session_started) AS began,
        is_bot,
        -toInt64(count()) AS occurred,
        -toInt64(countIf(name IN ('page_view', '$pageview'))) AS viewed,
        -toInt64(sum(bounce_delta)) AS bounced,
        -toInt64(sum(duration_delta)) AS lasted,
        max(expires) AS latest
    FROM events
    WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
    GROUP BY environment, active, began, is_bot
)
ARRAY JOIN [(active, occurred, viewed, toInt64(0), toInt64(0)), (began, toInt64(0), toInt64(0), bounced, lasted)] AS part
GROUP BY environment, slot, is_bot;
INSERT INTO event_counts
SELECT
    environment, name, if(name IN ('page_view', '$pageview'), path, '') AS path, toStartOfFifteenMinutes(ts) AS slot, is_bot,
    toUInt64(0) - count() AS events, max(expires) AS expires
FROM events
WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
GROUP BY environment, name, path, slot, is_bot;
INSERT INTO issue_releases
SELECT environment, toString(o.release) AS release, issue, toUInt64(0) - count() AS events, min(ts) AS first_seen, max(ts) AS last_seen, max(o.expires) AS expires
FROM occurrences AS o
WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)} AND o.release != ''
GROUP BY environment, release, issue
