-- The columns of persons.Seen, persons.Arrivals and persons.Traits for shared visitors, one row for each of their
-- persons. A visit in which the device changed hands counts for both. Key: environment, ts. Rows read: the numbers of
-- the visitors of all events, the events of the shared ones, and the entries of their visits.
SELECT
    visitor, person,
    toUnixTimestamp64Milli(min(ts)), toUnixTimestamp64Milli(max(ts)), count(), countIf(name IN ('page_view', '$pageview')),
    any(if(distinct_id != '', distinct_id, anonymous_id)), uniqExactIf(session, guest = 0 AND session_deeds < 16), max(name = 'signup' AND NOT is_bot) = 1,
    max($(told.Identified)) = 1, max($(told.Mailed)) = 1, max($(told.Email)), max($(told.Name)), max($(told.Company)), maxMap(told_traits), minMap(told_once),
    argMinIf((if(mine, e.source, toString(source)), if(mine, e.medium, toString(medium)), if(mine, e.campaign, toString(utm_campaign)), if(mine, e.referrer, referrer), url, ms, tie), (ms, tie), NOT tells),
    argMaxIf((e.source, e.medium, e.campaign, e.referrer, e.url, ms, tie), (ms, tie), enters),
    argMaxIf((e.country, e.region, e.city, e.device, e.browser, e.os, ms, tie), (ms, tie), enters)
FROM
(
    SELECT
        visitor, $(persons.At) AS person, ts, id, name, is_bot, distinct_id, anonymous_id, session, source, medium, utm_campaign, referrer, url, country, region, city, device, browser, os, guest, session_deeds,
        name IN ('$identify', '$alias') AS tells, $(entries.Marks), $(told.Columns)
    FROM events
    INNER JOIN ($(persons.Given)) AS shared USING (visitor)
    LEFT JOIN ($(entries.Visits)) AS visits USING (visitor, session)
    WHERE environment = {environment:UInt64} AND visitor IN {only:Array(UInt64)} AND $(persons.Counted)
)
GROUP BY visitor, person
