-- Like conversions.PerName without filters. Goals that are events come from the aggregate. Key: environment, slot of
-- names; environment, ts of events, for the edges and, if with_paths is set, for the page views of the window. Rows
-- read: one per slot, name and visitor, twice, and the page views if any goal is a path; returned: at most one per
-- name.
SELECT word, sum(completions) AS conversions
FROM
(
    SELECT DISTINCT toString($(name)) AS word, counted AS visitor
    FROM names
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND $(name) IN {names:Array(String)}
        AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')}
    UNION DISTINCT
    SELECT DISTINCT toString($(name)) AS word, counted AS visitor
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND $(name) IN {names:Array(String)}
        AND $(window.Edges)
) AS shown
INNER JOIN
(
    SELECT visitor, sum(occurred) AS completions
    FROM
    (
        SELECT counted AS visitor, events AS occurred
        FROM names
        WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND name IN {goal_events:Array(String)}
            AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')}
        UNION ALL
        SELECT counted AS visitor, toUInt64(1) AS occurred
        FROM events
        WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND name IN {goal_events:Array(String)}
            AND $(window.Edges)
        UNION ALL
        SELECT counted AS visitor, toUInt64(1) AS occurred
        FROM events
        WHERE {with_paths:Bool} AND environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
            AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
            AND name NOT IN {goal_events:Array(String)} AND $(goals.Match)
    )
    GROUP BY visitor
) AS completed USING (visitor)
GROUP BY word
