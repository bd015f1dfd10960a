-- The identifies of three of five people: one of the three links the anonymous id of the first visit. One in a thousand
-- of these devices has a second owner.
INSERT INTO events (environment, ts, received_at, id, name, distinct_id, anonymous_id, session_id, session_started, properties, block, expires)
WITH
    number AS person,
    now64(3) - toIntervalMillisecond({spread_ms:Int64}) + toIntervalMillisecond(intDiv(toInt64(person) * {spread_ms:Int64}, toInt64({people:UInt64}))) + toIntervalHour(1) AS told,
    arrayJoin(if(person % 5000 = 0, [0, 1], [0])) AS owner
SELECT
    {environment:UInt64}, told + toIntervalDay(owner), least(told + toIntervalDay(owner), now64(3)), concat('i', toString(person), '-', toString(owner)), '$identify',
    concat('user-', toString(person + owner)), if(person % 5 = 0, concat('anon-', toString(person)), ''),
    concat('t', toString(person), '-', toString(owner)), told + toIntervalDay(owner),
    concat('{"email":"person', toString(person + owner), '@example', toString(person % 97), '.com","firstName":"',
        ['Ada', 'Grace', 'Alan', 'Edsger', 'Barbara', 'Donald', 'Frances', 'Niklaus'][1 + person % 8], '","lastName":"Number', toString(person),
        '","plan":"', ['free', 'pro', 'team'][1 + person % 3], '","seats":', toString(person % 50), ',"company":"Company ', toString(intDiv(person, 40)), '"}'),
    2, toDate(now()) + 90
FROM numbers({from:UInt64}, {rows:UInt64})
WHERE person % 5 < 3
