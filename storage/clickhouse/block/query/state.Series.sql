-- The series of some environments that were seen since an instant. Key: environment. Rows read: the series of these
-- environments; returned: one per environment.
SELECT environment, groupUniqArray(series) AS numbers
FROM metric_series
WHERE environment IN {environments:Array(UInt64)} AND last_seen >= {since:DateTime64(3, 'UTC')}
GROUP BY environment
