-- What an event is to the entry e of its visit: mine if the visit belongs to its visitor, and enters if it is the entry. ms and tie order
-- the events. Part of other queries.
e, toUnixTimestamp64Milli(ts) AS ms, cityHash64(id) AS tie, e.owner = visitor AS mine, mine AND e.ms = ms AND e.tie = tie AS enters
