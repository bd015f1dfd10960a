-- The trait columns of an event, in the form of the view of traits. They are the time, the traits, these traits after
-- the time, and the set-once traits after the time. Part of other queries.
leftPad(toString(greatest(toUnixTimestamp64Milli(ts), 0)), 14, '0') AS stamp,
CAST(if(name = '$identify', arrayFilter(pair -> NOT startsWith(pair.1, '$set') AND length(pair.2) <= 2048, arrayConcat(JSONExtractKeysAndValuesRaw(properties), JSONExtractKeysAndValuesRaw(properties, '$set'))), []), 'Map(String, String)') AS said,
mapApply((k, v) -> (k, concat(stamp, v)), said) AS told_traits,
mapApply((k, v) -> (k, concat(stamp, v)), CAST(if(name = '$identify', arrayFilter(pair -> length(pair.2) <= 2048, JSONExtractKeysAndValuesRaw(properties, '$set_once')), []), 'Map(String, String)')) AS told_once
