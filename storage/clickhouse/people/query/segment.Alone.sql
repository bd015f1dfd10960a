-- segment.Events where no visitor is shared. Key: that of persons.Folded, read once. Part of other queries.
visitor IN ($(persons.Visitors))
