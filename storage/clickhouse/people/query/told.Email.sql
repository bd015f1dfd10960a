-- The e-mail address that an event tells, after the time of the event; empty if it tells none. Part of other queries.
if(mapContains(said, 'email'), concat(stamp, JSONExtractString(said['email'])), '')
