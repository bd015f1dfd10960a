-- The series of a metric that have one of the wanted values for each of the keys. A wanted word is the length of the
-- key, a colon, the key and the value. Key: environment, name.
SELECT series
FROM metric_series
WHERE environment = {environment:UInt64} AND name = {name:String}
    AND arrayAll(k -> has({wanted:Array(String)}, concat(toString(length(k)), ':', k, label_values[indexOf(label_keys, k)])), {keys:Array(String)})
