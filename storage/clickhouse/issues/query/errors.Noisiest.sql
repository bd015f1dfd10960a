-- The issues with the most occurrences in a window. Key: environment, ts. Rows read: one per occurrence, two narrow
-- columns; returned: at most limit.
SELECT transform(issue, {members:Array(UInt64)}, {roots:Array(UInt64)}, issue) AS root, count() AS occurrences
FROM issue_users
WHERE environment = {environment:UInt64} AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
GROUP BY root
ORDER BY occurrences DESC, root
LIMIT {limit:UInt32}
