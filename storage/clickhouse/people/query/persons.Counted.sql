-- The events that count for people: those of bots only where they tell of people. Part of other queries.
(NOT is_bot OR name IN ('$identify', '$alias'))
