-- The position of an event within its session: by time, then by id. A comparison of one string is several times faster
-- than that of a tuple. Part of other queries.
concat(reinterpret(byteSwap(toUInt64(toUnixTimestamp64Milli(ts))), 'FixedString(8)'), id)
