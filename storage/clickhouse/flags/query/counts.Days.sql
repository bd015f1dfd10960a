-- The evaluations of one flag by day and variant. Key: environment, flag. Rows read and returned: variants x days.
SELECT variant, day, sum(count) AS count
FROM flag_counts
WHERE environment = {environment:UInt64} AND flag = {flag:String} AND day >= toDate({from:DateTime64(3, 'UTC')}) AND day <= toDate({to:DateTime64(3, 'UTC')})
GROUP BY variant, day
ORDER BY day, variant
