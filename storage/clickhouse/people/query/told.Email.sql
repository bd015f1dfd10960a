-- The e-mail address that an event sets, after the time of the event. It is empty if the event sets none. Part of other
-- queries.
if(mapContains(said, 'email'), concat(stamp, JSONExtractString(said['email'])), '')
