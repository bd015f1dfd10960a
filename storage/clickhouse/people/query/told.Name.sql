-- The name that an event sets, after the time of the event. It is empty if the event sets none. Part of other queries.
multiIf(mapContains(said, 'name'), concat(stamp, JSONExtractString(said['name'])),
    mapContains(said, 'firstName') OR mapContains(said, 'lastName'), concat(stamp, trim(concat(JSONExtractString(said['firstName']), ' ', JSONExtractString(said['lastName'])))), '')
