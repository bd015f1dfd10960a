-- The path of the last page view among events (by time, then by id), or empty. Part of other queries.
argMaxIf(path, $(mark.Order), name IN ('page_view', '$pageview'))
