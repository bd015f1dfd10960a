-- The company that an event tells, after the time of the event; empty if it tells none. Part of other queries.
if(mapContains(said, 'company'), concat(stamp, if(JSONType(said['company']) = 'Object', JSONExtractString(said['company'], 'name'), JSONExtractString(said['company']))), '')
