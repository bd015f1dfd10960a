-- Events of people, in the order of their time, two per visit, while new people arrive all the time. Every fifth person
-- has an anonymous id on the first visit; people that never identify always have one. They were received when they
-- happened, so few sessions are open.
INSERT INTO events (environment, ts, received_at, id, name, url, path, title, distinct_id, anonymous_id, session_id, session_started, source, medium, country, city, device, browser, os, value, currency, properties, block, expires)
WITH
    intDiv(number, 2) AS visit,
    number % 2 AS step,
    visit % {rounds:UInt64} AS round,
    intDiv(visit, {rounds:UInt64}) AS latest,
    latest - round * intDiv(latest, 12) AS person,
    now64(3) - toIntervalMillisecond({spread_ms:Int64}) + toIntervalMillisecond(intDiv(visit * {spread_ms:Int64}, {visits:UInt64})) AS began,
    person % 5 IN (1, 2) OR (person % 5 = 0 AND round > 0) AS known,
    if(step = 1 AND (person + round) % 4 = 0, 'purchase', '$pageview') AS named,
    if(step = 0 AND person % 3 = 0, '/pricing', concat('/products/item-', toString((person + round) % 200))) AS page
SELECT
    {environment:UInt64}, began + toIntervalSecond(step * 30), began + toIntervalSecond(step * 30), concat('e', toString(number)), named, concat('https://shop.example.com', page), page, 'A page',
    if(known, concat('user-', toString(person)), ''), if(known, '', concat('anon-', toString(person))),
    concat('s', toString(visit)), began,
    ['google', 'newsletter', 'direct', 'partner'][1 + person % 4], ['organic', 'email', 'none', 'referral'][1 + person % 4],
    ['DE', 'US', 'FR', 'BR', 'JP'][1 + person % 5], ['Berlin', 'Austin', 'Lyon', 'Recife', 'Osaka'][1 + person % 5],
    ['desktop', 'mobile', 'tablet'][1 + person % 3], ['Chrome', 'Safari', 'Firefox'][1 + person % 3], ['macOS', 'Windows', 'Android'][1 + intDiv(person, 3) % 3],
    if(named = 'purchase', toFloat64(person % 100), NULL), 'EUR', '{"plan":"pro","items":3}', 1, toDate(now()) + 90
FROM numbers({from:UInt64}, {rows:UInt64})
