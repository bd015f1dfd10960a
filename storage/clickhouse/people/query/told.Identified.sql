-- Whether an event identifies its visitor. Part of other queries.
toUInt8(name = '$identify' AND distinct_id != '')
