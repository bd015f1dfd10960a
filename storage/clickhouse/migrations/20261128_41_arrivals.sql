-- A visit counts for one visitor. The second view gives an id to three kinds of visitors. These are the other visitors
-- of a visit, visitors with only $identify and $alias events, and visitors that bots identify. Such rows add no visit.
CREATE OR REPLACE MATERIALIZED VIEW arrivals_of_events TO arrivals AS
SELECT
    environment,
    visitor,
    any(if(distinct_id != '', distinct_id, anonymous_id)) AS id,
    uniqExactState(session) AS sessions,
    argMinIfState((toString(source), toString(medium), toString(utm_campaign), referrer, url, toUnixTimestamp64Milli(ts)), (ts, events.id), name NOT IN ('$identify', '$alias')) AS first_touch,
    argMaxIfState((toString(source), toString(medium), toString(utm_campaign), referrer, url, toUnixTimestamp64Milli(ts)), (ts, events.id), name NOT IN ('$identify', '$alias')) AS last_touch,
    argMaxIfState((toString(country), toString(region), toString(city), toString(device), toString(browser), toString(os), toUnixTimestamp64Milli(ts)), (ts, events.id), name NOT IN ('$identify', '$alias')) AS place
FROM events
WHERE (NOT is_bot OR name IN ('$identify', '$alias')) AND guest = 0 AND session_deeds < 16 AND toUnixTimestamp64Milli(ts) = toUnixTimestamp64Milli(session_started) - session_before
GROUP BY environment, visitor;

CREATE OR REPLACE MATERIALIZED VIEW arrivals_of_guests TO arrivals AS
SELECT environment, visitor, any(if(distinct_id != '', distinct_id, anonymous_id)) AS id
FROM events
WHERE NOT is_bot AND (guest != 0 OR session_deeds >= 16) OR is_bot AND name IN ('$identify', '$alias')
GROUP BY environment, visitor;

-- Adds the rows from before this migration. A row may be folded twice without harm.
INSERT INTO arrivals (environment, visitor, id)
SELECT environment, visitor, any(if(distinct_id != '', distinct_id, anonymous_id)) AS id
FROM events
WHERE NOT is_bot AND guest != 0 OR is_bot AND name IN ('$identify', '$alias')
GROUP BY environment, visitor
SETTINGS max_bytes_before_external_group_by = 500000000;
