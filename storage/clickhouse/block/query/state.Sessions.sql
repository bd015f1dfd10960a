-- The sessions with an event received in a span of time, as of their rows in it: XXH3 of the
-- visitor, and what the rows carry. Of rows from before they carried anything, what they show
-- themselves. A session that was given up and resumed has a row for each time. Key: none; the
-- index received leaves the granules of the span. Rows returned: one per session, streamed.
SELECT
    environment, visitor_hash, is_bot, session_id, began_ms, first_ms, last_ms, engaged, deeds, heard_ms,
    origin.1, origin.2, origin.3, origin.4, origin.5, origin.6, origin.7, origin.8, origin.9, origin.10
FROM
(
    SELECT
        environment,
        bitXor(xxh3(if(distinct_id != '', distinct_id, anonymous_id)), life) AS visitor_hash,
        is_bot,
        session_id,
        toUnixTimestamp64Milli(session_started) AS began_ms,
        least(toUnixTimestamp64Milli(session_started) - max(session_before), toUnixTimestamp64Milli(min(ts))) AS first_ms,
        max(toUnixTimestamp64Milli(ts) + session_after) AS last_ms,
        greatest(max(session_engaged), sum(engaged_ms)) AS engaged,
        bitOr(groupBitOr(session_deeds), toUInt8(multiIf(
            countIf(name IN ('page_view', '$pageview')) > 1, 3,
            countIf(name IN ('page_view', '$pageview')) = 1, 1, 0)
            + 4 * (countIf(name NOT IN ('page_view', '$pageview', '$identify', '$alias', 'engagement')) > 0))) AS deeds,
        toUnixTimestamp64Milli(max(received_at)) AS heard_ms,
        argMin((referrer, toString(referrer_domain), toString(source), toString(medium), toString(utm_source), toString(utm_medium),
            toString(utm_campaign), toString(utm_term), toString(utm_content), click_ids), ts) AS origin
    FROM events
    WHERE received_at >= {since:DateTime64(3, 'UTC')} AND received_at < {until:DateTime64(3, 'UTC')}
        AND block != {block:UInt64}
    GROUP BY environment, visitor_hash, is_bot, session_id, session_started, bitAnd(session_deeds, 8)
)
