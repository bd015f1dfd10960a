-- The occurrences, issues and users of a window. Key: environment, ts. Rows read: one per occurrence, two narrow
-- columns; returned: one.
SELECT
    count() AS occurrences,
    uniqExact(transform(issue, {members:Array(UInt64)}, {roots:Array(UInt64)}, issue)) AS issues,
    uniqExactIf(user, user != 0) AS users
FROM issue_users
WHERE environment = {environment:UInt64} AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
