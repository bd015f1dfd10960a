-- The distinct visitors of events. Part of events.Series.
uniqExactIf(counted, session_deeds < 16)
