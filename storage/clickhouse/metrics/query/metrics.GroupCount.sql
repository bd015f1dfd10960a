-- The number of values of a label in the series of a metric. Key: environment, name. Rows read: one per series.
SELECT uniqExact(part) FROM ($(metrics.Parted))
