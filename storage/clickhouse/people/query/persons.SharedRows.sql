-- What persons.Seen and persons.Arrivals answer, of shared visitors and for each of their persons. A
-- visit in which the device changed hands counts for both. Key: environment, ts. Rows read: the numbers of the visitors
-- of all events, and the events of the shared ones.
SELECT
    visitor, $(persons.At) AS person,
    toUnixTimestamp64Milli(min(events.ts)), toUnixTimestamp64Milli(max(events.ts)), count(), countIf(name IN ('page_view', '$pageview')),
    any(if(distinct_id != '', distinct_id, anonymous_id)), uniqExact(session), max(name = 'signup' AND NOT is_bot) = 1,
    argMinIf((toString(source), toString(medium), toString(utm_campaign), referrer, url, toUnixTimestamp64Milli(ts)), (ts, events.id), name NOT IN ('$identify', '$alias')),
    argMaxIf((toString(source), toString(medium), toString(utm_campaign), referrer, url, toUnixTimestamp64Milli(ts)), (ts, events.id), name NOT IN ('$identify', '$alias') AND toUnixTimestamp64Milli(ts) = toUnixTimestamp64Milli(session_started) - session_before),
    argMaxIf((toString(country), toString(region), toString(city), toString(device), toString(browser), toString(os), toUnixTimestamp64Milli(ts)), (ts, events.id), name NOT IN ('$identify', '$alias') AND toUnixTimestamp64Milli(ts) = toUnixTimestamp64Milli(session_started) - session_before)
FROM events
INNER JOIN (SELECT visitor, spans FROM ($(persons.LinksOf))) AS shared USING (visitor)
WHERE environment = {environment:UInt64} AND visitor IN {only:Array(UInt64)} AND $(persons.Counted)
GROUP BY visitor, person
