-- The number of an event's person: the one that the event names, else its visitor. Part of
-- other queries.
if(person_id != '', cityHash64(person_id), visitor)
