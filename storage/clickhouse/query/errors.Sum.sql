-- The occurrences, issues and users of a window, per bucket and, in the row whose total is 1,
-- over all. Key: as errors.Window. Rows read: one per slot, issue and user; returned: one per
-- bucket and one.
SELECT
    roundDown(at, {buckets:Array(UInt32)}) AS bucket,
    toUInt8(grouping(bucket) = 0) AS single,
    sum(occurred) AS occurrences,
    uniqExact(root) AS issues,
    uniqExactIf(user, user != 0) AS users
FROM ($(errors.Window))
GROUP BY GROUPING SETS ((bucket), ())
