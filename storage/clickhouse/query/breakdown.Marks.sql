-- The sessions of a window: whose each is, the path that marks it, its page views and its
-- events. Key: environment, ts. Rows read: the events of the window; returned: one per
-- session.
SELECT
    session,
    any(visitor) AS who,
    toString($(mark)) AS value,
    countIf(name IN ('page_view', '$pageview')) AS viewed,
    count() AS occurred
FROM events
WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
GROUP BY session
