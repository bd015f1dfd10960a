-- The number of page views among events. Part of events.Series.
countIf(name IN ('page_view', '$pageview'))
