-- The path of the first page view among events (by time, then by id), or empty. Part of other queries.
argMinIf(path, $(mark.Order), name IN ('page_view', '$pageview'))
