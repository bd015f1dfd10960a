-- Whether an event is the start of journeys: an event with a name, or a page view of a path or of a path prefix. Part
-- of journeys.Links.
(({start_event:Bool} AND name = {start:String}) OR (NOT {start_event:Bool} AND name IN ('page_view', '$pageview')
    AND (path = {start:String} AND NOT {start_open:Bool} OR {start_open:Bool} AND startsWith(path, {start:String}))))
