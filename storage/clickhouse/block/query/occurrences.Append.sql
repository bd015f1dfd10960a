-- One block of occurrences. The rows follow in the Native format, with these columns in this order.
INSERT INTO occurrences
(
    environment, issue, ts, received_at, id, fingerprint, level, name, message, culprit,
    handled, mechanism, release, stack, frames, breadcrumbs, tags, extra, request_method,
    request_url, request_status, url, path, referrer, person_id, session_id, distinct_id,
    anonymous_id, browser, browser_version, os, device, country, region, city, locale,
    app_version, block, expires, details, life
)
