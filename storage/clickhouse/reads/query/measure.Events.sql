-- The number of events. Part of events.Series.
count()
