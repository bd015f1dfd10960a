-- The number of items that some environments stored since a UTC day, by signal. Key: environment, day. Rows read: some
-- per signal, fate and code of each day; returned: one for each environment and signal.
SELECT environment, signal, sum(items) AS number
FROM usage
WHERE environment IN {environments:Array(UInt64)} AND day >= {since:Date} AND fate = 'stored'
GROUP BY environment, signal
