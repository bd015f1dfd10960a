-- The series of a metric with the value of a label. Series without the label have the empty value. Key: environment,
-- name.
SELECT series, any(label_values[indexOf(label_keys, {group_by:String})]) AS part
FROM metric_series
WHERE environment = {environment:UInt64} AND name = {name:String} AND series IN ($(metrics.Matching))
GROUP BY series
