-- Whether the session of an event entered by a path: its first page view within the window (by time, then by id) has
-- the path. Part of other queries. Key: environment, ts.
session IN
(
    SELECT session
    FROM events
    WHERE environment = {environment:UInt64} AND name IN ('page_view', '$pageview')
        AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
    GROUP BY session
    HAVING argMin(path, $(mark.Order)) = {entry_path:String}
)
