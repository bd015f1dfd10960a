-- The prefilter of an event: visitors with the event since an instant. Key: environment, slot of names. Rows read: one
-- per slot, name and visitor since then. Part of other queries.
SELECT visitor FROM names WHERE environment = {environment:UInt64} AND name = $(name) AND slot >= toDateTime($(since), 'UTC') AND $(persons.Counted)
