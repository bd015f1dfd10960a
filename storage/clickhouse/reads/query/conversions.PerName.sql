-- For names of events, the goals completed in a window by the visitors that caused an event of the name which passes a
-- filter. Key: environment, ts. Rows read: the events of the window, twice, four columns; returned: at most one per
-- name.
SELECT word, sum(completions) AS conversions
FROM
(
    SELECT DISTINCT
        toString($(name)) AS word,
        counted AS visitor
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
        AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
        AND $(name) IN {names:Array(String)} AND ($(where))
) AS shown
INNER JOIN
(
    SELECT counted AS visitor, count() AS completions
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
        AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
        AND $(goals.Match)
    GROUP BY visitor
) AS completed USING (visitor)
GROUP BY word
