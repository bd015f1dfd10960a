-- One occurrence of an issue in full. Key: environment, issue; the index ids finds the granule.
SELECT
    id, toUnixTimestamp64Milli(ts), toUnixTimestamp64Milli(received_at), level, name, message, culprit, handled, mechanism, release,
    stack, frames, breadcrumbs, tags, extra, request_method, request_url, request_status, url, path, referrer,
    session_id, distinct_id, anonymous_id, browser, browser_version, os, device,
    country, region, city, locale, app_version, details
FROM occurrences
WHERE environment = {environment:UInt64} AND issue IN {issues:Array(UInt64)} AND id = {id:String}
LIMIT 1
