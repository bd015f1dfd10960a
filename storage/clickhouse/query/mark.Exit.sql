-- The path of the last page view among events (by time, then by id), empty where there is
-- none. Part of breakdown.Marks.
argMaxIf(path, (ts, id), name IN ('page_view', '$pageview'))
