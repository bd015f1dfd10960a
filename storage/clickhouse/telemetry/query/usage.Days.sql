-- The fates of the items of an environment, by UTC day. Key: environment, day. Rows read: some per signal, fate and
-- code of each day, and the unmerged ones; returned: one for each.
SELECT day, signal, fate, code, sum(items) AS number, sum(bytes) AS size, max(last) AS latest
FROM usage
WHERE environment = {environment:UInt64} AND day >= {since:Date}
GROUP BY day, signal, fate, code
