-- The place of the event that mark.Entry names. Part of today.Marks.
minIf($(mark.Order), name IN ('page_view', '$pageview'))
