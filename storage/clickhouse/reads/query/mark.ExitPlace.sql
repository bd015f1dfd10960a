-- The position of the event that mark.Exit selects. Part of today.Marks.
maxIf($(mark.Order), name IN ('page_view', '$pageview'))
