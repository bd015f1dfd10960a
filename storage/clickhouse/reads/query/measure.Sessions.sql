-- The distinct sessions of events. Part of events.Series.
uniqExact(session)
