-- The sessions with an event received in a span of time, from their rows in it: the thread (for rows from before
-- threads existed, XXH3 of the visitor) and the session data of the rows, separate by the ids of the events. For rows
-- from before they had session data, it is derived from their other columns. A session that was abandoned and resumed
-- has a row for each time, and one for events that only set identities. Key: none; the index received skips the
-- granules outside the span. Rows returned: one per session and pair of ids, streamed.
SELECT
    environment, thread, visitor_hash, thread_life, is_bot, number, session_hash, session_id, began_ms, first_ms, last_ms, engaged, deeds, heard_ms,
    visitor_number, known, device, entry.1, entry.2, entry.3,
    origin.1, origin.2, origin.3, origin.4, origin.5, origin.6, origin.7, origin.8, origin.9, origin.10
FROM
(
    SELECT
        environment,
        thread,
        if(thread = 0, xxh3(if(distinct_id != '', distinct_id, anonymous_id)), 0) AS visitor_hash,
        if(thread != 0 AND distinct_id != '' AND anonymous_id != '', other_life, life) AS thread_life,
        is_bot,
        session AS number,
        xxh3(session_id) AS session_hash,
        session_id,
        any(counted) AS visitor_number,
        if(distinct_id != '', cityHash64(distinct_id), 0) AS known,
        if(anonymous_id != '', cityHash64(anonymous_id), 0) AS device,
        toUnixTimestamp64Milli(session_started) AS began_ms,
        if(thread = 0, least(began_ms - max(session_before), toUnixTimestamp64Milli(min(ts))), began_ms - max(session_before)) AS first_ms,
        max(toUnixTimestamp64Milli(ts) + session_after) AS last_ms,
        greatest(max(session_engaged), sum(engaged_ms)) AS engaged,
        bitOr(groupBitOr(session_deeds), toUInt8(multiIf(
            countIf(name IN ('page_view', '$pageview')) > 1, 3,
            countIf(name IN ('page_view', '$pageview')) = 1, 1, 0)
            + 4 * (countIf(name NOT IN ('page_view', '$pageview', '$identify', '$alias', 'engagement')) > 0))) AS deeds,
        toUnixTimestamp64Milli(max(received_at)) AS heard_ms,
        argMinIf((toUnixTimestamp64Milli(ts), cityHash64(id), visitor), (ts, cityHash64(id)), NOT inside AND name NOT IN ('$identify', '$alias')) AS entry,
        argMin((referrer, toString(referrer_domain), toString(source), toString(medium), toString(utm_source), toString(utm_medium),
            toString(utm_campaign), toString(utm_term), toString(utm_content), click_ids), ts) AS origin
    FROM events
    WHERE received_at >= {since:DateTime64(3, 'UTC')} AND received_at < {until:DateTime64(3, 'UTC')}
        AND block != {block:UInt64}
    GROUP BY environment, thread, visitor_hash, thread_life, is_bot, number, session_id, distinct_id, anonymous_id, session_started, bitAnd(session_deeds, 24)
)
