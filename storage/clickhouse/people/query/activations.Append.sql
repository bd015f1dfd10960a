-- Stores the visitors with an event, received within a span, that reached a goal: an event of some names, or a page
-- view of some paths. It may be repeated. Key: environment; the span skips granules. Rows read: the events of the
-- span.
INSERT INTO activations
SELECT environment, visitor, min(ts) AS first
FROM events
WHERE environment = {environment:UInt64} AND $(persons.Counted)
    AND received_at >= {from:DateTime64(3, 'UTC')} AND received_at < {to:DateTime64(3, 'UTC')}
    AND (name IN {names:Array(String)} OR (name IN ('page_view', '$pageview') AND (path IN {paths:Array(String)} OR arrayExists(prefix -> startsWith(path, prefix), {prefixes:Array(String)}))))
GROUP BY environment, visitor
