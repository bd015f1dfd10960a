-- The distinct sessions of events. Part of events.Series.
uniqExactIf(session, session_deeds < 16)
