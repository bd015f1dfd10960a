-- The position of the event that mark.Entry selects. Part of today.Marks.
minIf($(mark.Order), name IN ('page_view', '$pageview'))
