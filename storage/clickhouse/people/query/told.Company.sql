-- The company that an event sets, after the time of the event. It is empty if the event sets none. Part of other
-- queries.
if(mapContains(said, 'company'), concat(stamp, if(JSONType(said['company']) = 'Object', JSONExtractString(said['company'], 'name'), JSONExtractString(said['company']))), '')
