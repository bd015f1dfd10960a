-- The number of an event's visitor, as visits knows it. Part of other queries.
cityHash64(if(distinct_id != '', distinct_id, anonymous_id))
