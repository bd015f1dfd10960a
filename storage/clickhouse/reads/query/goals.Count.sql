-- How often goals were reached in a window, and by how many visitors of each day. A goal is identified by its index in
-- the lists. Its kind is 0 for an event, 1 for a path and 2 for a path prefix, and it counts until an instant. Key:
-- environment, ts. Rows read: the events of the window; returned: one per goal.
SELECT goal, count() AS conversions, uniqExact(day, visitor) AS visitors
FROM
(
    SELECT
        arrayJoin(arrayFilter(
            (place, kind, match, until) -> toUnixTimestamp64Milli(ts) < until
                AND multiIf(kind = 0, name = match, name NOT IN ('page_view', '$pageview'), false, kind = 1, path = match, startsWith(path, match)),
            arrayEnumerate({goal_kind:Array(UInt8)}), {goal_kind:Array(UInt8)}, {goal_match:Array(String)}, {goal_until:Array(Int64)}
        )) AS goal,
        roundDown(toUInt32(toUnixTimestamp(ts)), {buckets:Array(UInt32)}) AS day,
        counted AS visitor
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
        AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
        AND $(goals.Match) AND ($(where))
)
GROUP BY goal
