-- The distinct visitors of events. Part of events.Series.
uniqExact(visitor)
