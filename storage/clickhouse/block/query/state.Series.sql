-- The series that were seen since an instant. Key: none. Rows read: all series; returned: one per
-- environment.
SELECT environment, groupUniqArray(series) AS numbers
FROM metric_series
WHERE last_seen >= {since:DateTime64(3, 'UTC')}
GROUP BY environment
