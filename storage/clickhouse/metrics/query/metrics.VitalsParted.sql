-- The series of the web vitals with the value of a label. Series without the label have the empty value. Part of
-- metrics.VitalsRanked and metrics.VitalsScores. Key: environment, name.
SELECT toString(s.name) AS name, s.series AS series, any(label_values[indexOf(label_keys, {group_by:String})]) AS part
FROM metric_series AS s
WHERE environment = {environment:UInt64} AND s.name IN {vitals:Array(String)}
GROUP BY name, series
HAVING ({path:String} = '' OR any(label_values[indexOf(label_keys, 'path')]) = {path:String})
    AND ({device:String} = '' OR any(label_values[indexOf(label_keys, 'device')]) = {device:String})
