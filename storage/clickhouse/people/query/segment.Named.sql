-- The condition of segment.Events for the case that the visitors of the persons are known. It lists the visitors of
-- one person each, and the shared ones with the start of each span and whether its person is in the segment. Key:
-- none. Part of other queries.
(visitor IN {segment_visitors:Array(UInt64)}
    OR (visitor IN {segment_shared:Array(UInt64)}
        AND {segment_meets:Array(Array(Bool))}[indexOf({segment_shared:Array(UInt64)}, visitor)]
            [greatest(1, arrayCount(since -> since <= toUnixTimestamp64Milli(ts), {segment_since:Array(Array(Int64))}[indexOf({segment_shared:Array(UInt64)}, visitor)]))]))
