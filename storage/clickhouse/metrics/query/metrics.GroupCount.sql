-- How many values of a label the series of a metric have. Key: environment, name. Rows read: one
-- per series.
SELECT uniqExact(part) FROM ($(metrics.Parted))
