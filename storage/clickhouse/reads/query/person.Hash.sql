-- The number of an event's person: the person that the event names, otherwise its visitor. Part of other queries.
if(person_id != '', cityHash64(person_id), visitor)
