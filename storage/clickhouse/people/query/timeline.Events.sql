-- A page of the events of a person, newest first: the events of each visitor within its stays. Key: environment, ts
-- backwards; granules without a visitor are skipped. Rows returned: at most limit.
SELECT
    id, toUnixTimestamp64Milli(ts), name, url, path, title, referrer, distinct_id, anonymous_id, session_id,
    source, medium, utm_campaign, country, device, browser, os, value, currency, properties
FROM events
WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)} AND $(persons.Counted)
    AND arrayExists((v, from_ms, to_ms) -> v = visitor AND toUnixTimestamp64Milli(ts) >= from_ms AND toUnixTimestamp64Milli(ts) < to_ms,
        {visitors:Array(UInt64)}, {from:Array(Int64)}, {until:Array(Int64)})
    AND ts <= fromUnixTimestamp64Milli({before_ms:Int64}, 'UTC')
    AND (toUnixTimestamp64Milli(ts) < {before_ms:Int64} OR id < {before_id:String})
ORDER BY ts DESC, id DESC
LIMIT {limit:UInt32}
