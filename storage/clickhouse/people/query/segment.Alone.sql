-- The condition of segment.Events for the case that no visitor is shared. Key: the key of persons.Folded, read once.
-- Part of other queries.
visitor IN ($(persons.Visitors))
