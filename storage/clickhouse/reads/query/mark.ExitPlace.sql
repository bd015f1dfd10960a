-- The place of the event that mark.Exit names. Part of today.Marks.
maxIf($(mark.Order), name IN ('page_view', '$pageview'))
