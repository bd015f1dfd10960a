-- What blocks that were not read yet add to the values of a local day, with who stands behind
-- it: visitors and sessions in eight little-endian bytes each, and in the same form the session,
-- beginning (in milliseconds) and change (plus 128) of every change of a bounce of a session that
-- began on the day. Blocks have no number where they arrived before named_from; what happened after the
-- end of the window comes apart, by its instant (at), and so does what happened on another day
-- (inside). Key: environment, ts, and the index received. Rows read: the events that arrived
-- since; returned: one per recent block, value and instant.
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
