-- Whether an event lies within the stays of a person. Part of events.List. Granules without one of the visitors are
-- skipped.
visitor IN {stay_visitors:Array(UInt64)}
AND arrayExists((v, from_ms, to_ms) -> v = visitor AND toUnixTimestamp64Milli(ts) >= from_ms AND toUnixTimestamp64Milli(ts) < to_ms,
    {stay_visitors:Array(UInt64)}, {stay_from:Array(Int64)}, {stay_until:Array(Int64)})
