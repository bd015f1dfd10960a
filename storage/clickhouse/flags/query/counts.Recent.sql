-- The evaluations of the flags of an environment since a day. Key: environment. Rows read: flags x variants x days;
-- returned: as many.
SELECT flag, variant, day, sum(count) AS count
FROM flag_counts
WHERE environment = {environment:UInt64} AND day >= toDate({from:DateTime64(3, 'UTC')})
GROUP BY flag, variant, day
