-- The place of an event among those of its session: by time, then by id. As one string it is
-- compared several times faster than as a tuple. Part of other queries.
concat(reinterpret(byteSwap(toUInt64(toUnixTimestamp64Milli(ts))), 'FixedString(8)'), id)
