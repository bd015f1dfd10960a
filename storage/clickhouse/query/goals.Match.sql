-- Whether an event completes a goal: it has the name of one, or is a page view of the path
-- of one. Part of other queries.
(name IN {goal_events:Array(String)} OR (name IN ('page_view', '$pageview')
    AND (path IN {goal_paths:Array(String)} OR arrayExists(prefix -> startsWith(path, prefix), {goal_prefixes:Array(String)}))))
