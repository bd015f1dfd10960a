-- One block of events. The rows follow in the Native format, with these columns in this order.
INSERT INTO events
(
    environment, ts, received_at, id, name, url, path, title, referrer, referrer_domain,
    distinct_id, anonymous_id, person_id, session_id, session_started, session_before, session_after, session_engaged, session_deeds,
    bounce_delta, duration_delta, engaged_ms,
    source, medium, utm_source, utm_medium, utm_campaign, utm_term, utm_content, click_ids,
    country, region, city, device, browser, browser_version, os, os_version, screen, locale,
    value, currency, properties, release, library, is_bot, block, expires,
    life, other_life, thread, session, guest, inside, ousted, own_origin
)
