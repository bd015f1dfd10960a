-- A page of the event feed, newest first. Key: environment, ts, read backwards from the keyset. A page without other
-- conditions thus touches two or three granules; with a rare condition the rest of the environment is read. An id
-- belongs to a visitor and a thread, and also to a block if it came again after a day. Rows returned: at most limit.
SELECT
    id, toUnixTimestamp64Milli(ts), toUnixTimestamp64Milli(received_at), name, url, path, title, referrer,
    distinct_id, anonymous_id, person_id, session_id,
    referrer_domain, source, medium, utm_source, utm_medium, utm_campaign, utm_term, utm_content, click_ids,
    country, region, city, device, browser, browser_version, os, os_version, screen, locale,
    value, currency, properties, release, library, is_bot, cityHash64(visitor, thread, block) AS tie, visitor
FROM events
WHERE environment = {environment:UInt64} AND NOT has({hidden:Array(UInt64)}, block) AND ($(where))
ORDER BY $(order)
LIMIT {limit:UInt32}
