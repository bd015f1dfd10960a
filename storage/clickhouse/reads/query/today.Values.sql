-- The additions of unread blocks to the values of a local day. Visitors and sessions have eight little-endian bytes
-- each. In the same form, changes has three numbers for every change of a bounce of a session that began on the day:
-- the session, its start in milliseconds, and the change plus 128. A block that arrived before named_from has the
-- number 0. Events after the end of the window are separate rows by instant (at), and so are events on another day
-- (inside). Key: environment, ts, and the index received. Rows read: the events that arrived since; returned: one per
-- recent block, value and instant.
SELECT
    if(received_at < {named_from:DateTime64(3, 'UTC')}, 0, block) AS number,
    ts >= {day_from:DateTime64(3, 'UTC')} AND ts < {day_to:DateTime64(3, 'UTC')} AS inside,
    if(ts < {to:DateTime64(3, 'UTC')}, 0, toUnixTimestamp64Milli(ts)) AS at,
    $(value) AS value,
    count() AS times,
    toUnixTimestamp64Milli(max(received_at)) AS arrived,
    toUnixTimestamp64Milli(max(ts)) AS latest,
    countIf(name IN ('page_view', '$pageview')) AS views,
    reinterpret(groupUniqArrayIf(counted, session_deeds < 16), 'String') AS visitors,
    reinterpret(groupUniqArrayIf(session, session_deeds < 16), 'String') AS sessions,
    '' AS place,
    $(today.Changes) AS changes
FROM events
WHERE $(today.Fresh)
GROUP BY number, inside, at, value
