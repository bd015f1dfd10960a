-- The activity within a window: rows of (at, visitor, counted, counts), with repetitions; all of them count. Part of
-- other queries. Key: environment, slot of visits and environment, ts of events.
SELECT at, visitor, counted, true AS counts
FROM
(
    $(window.Visits)
)
