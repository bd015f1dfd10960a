-- Whether an event completes a goal: it has the name of a goal, or is a page view of the path of a goal. All path
-- prefixes form one pattern, which the engine matches once per path instead of once per event. Part of other queries.
(name IN {goal_events:Array(String)} OR (name IN ('page_view', '$pageview')
    AND (path IN {goal_paths:Array(String)} OR match(path, {goal_prefixes:String}))))
