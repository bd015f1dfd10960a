-- Whether an event completes a goal: it has the name of one, or is a page view of the path
-- of one. The paths that go on in any way are one pattern, which the engine matches once per
-- path and not per event. Part of other queries.
(name IN {goal_events:Array(String)} OR (name IN ('page_view', '$pageview')
    AND (path IN {goal_paths:Array(String)} OR match(path, {goal_prefixes:String}))))
