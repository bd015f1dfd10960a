-- What tells this store from another one with the same numbers: the identity of the table of
-- events, which is made with it. Key: none. Rows read: one per table; returned: one.
SELECT toString(uuid) FROM system.tables WHERE database = currentDatabase() AND name = 'events'
