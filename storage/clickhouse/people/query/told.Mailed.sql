-- Whether an event sets an e-mail address. Part of other queries.
toUInt8(mapContains(said, 'email') AND said['email'] NOT IN ('null', '""'))
