-- The columns of persons.Seen, persons.Arrivals and persons.Traits for shared visitors, one row for each of their
-- persons. A visit in which the device changed hands counts for both. Key: environment, ts. Rows read: the numbers of
-- the visitors of all events, and the events of the shared ones.
SELECT
    visitor, person,
    toUnixTimestamp64Milli(min(ts)), toUnixTimestamp64Milli(max(ts)), count(), countIf(name IN ('page_view', '$pageview')),
    any(if(distinct_id != '', distinct_id, anonymous_id)), uniqExactIf(session, guest = 0 AND session_deeds < 16), max(name = 'signup' AND NOT is_bot) = 1,
    max($(told.Identified)) = 1, max($(told.Mailed)) = 1, max($(told.Email)), max($(told.Name)), max($(told.Company)), maxMap(told_traits), minMap(told_once),
    argMinIf((toString(source), toString(medium), toString(utm_campaign), referrer, url, toUnixTimestamp64Milli(ts)), (ts, id), NOT tells),
    argMaxIf((toString(source), toString(medium), toString(utm_campaign), referrer, url, toUnixTimestamp64Milli(ts)), (ts, id), NOT tells AND begins),
    argMaxIf((toString(country), toString(region), toString(city), toString(device), toString(browser), toString(os), toUnixTimestamp64Milli(ts)), (ts, id), NOT tells AND begins)
FROM
(
    SELECT
        visitor, $(persons.At) AS person, ts, id, name, is_bot, distinct_id, anonymous_id, session, source, medium, utm_campaign, referrer, url, country, region, city, device, browser, os, guest, session_deeds,
        name IN ('$identify', '$alias') AS tells, toUnixTimestamp64Milli(ts) = toUnixTimestamp64Milli(session_started) - session_before AND guest = 0 AS begins, $(told.Columns)
    FROM events
    INNER JOIN ($(persons.Given)) AS shared USING (visitor)
    WHERE environment = {environment:UInt64} AND visitor IN {only:Array(UInt64)} AND $(persons.Counted)
)
GROUP BY visitor, person
