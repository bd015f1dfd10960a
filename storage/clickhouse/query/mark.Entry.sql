-- The path of the first page view among events (by time, then by id), empty where there is
-- none. Part of breakdown.Marks.
argMinIf(path, (ts, id), name IN ('page_view', '$pageview'))
