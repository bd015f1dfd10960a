-- Who was active when within a window: rows of (at, visitor, counted, counts), repeated ones
-- included; everything counts. Part of other queries. Key: environment, slot of visits and
-- environment, ts of events.
SELECT at, visitor, counted, true AS counts
FROM
(
    $(window.Visits)
)
