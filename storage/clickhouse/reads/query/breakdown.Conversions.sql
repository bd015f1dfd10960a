-- For values of a dimension, the goals completed in a window by the visitors that caused an event with the value. Key:
-- that of the rows, and environment, ts. Rows read: the events of the window, twice; returned: at most one per value.
SELECT value, sum(completions) AS conversions
FROM
(
    SELECT DISTINCT value, visitor
    FROM
    (
        $(rows)
    )
    WHERE value IN {values:Array(String)}
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
GROUP BY value
