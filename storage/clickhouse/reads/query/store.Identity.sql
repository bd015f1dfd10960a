-- Distinguishes this store from another one with the same numbers: the UUID of the table of events, which is created
-- with the table. Key: none. Rows read: one per table; returned: one.
SELECT toString(uuid) FROM system.tables WHERE database = currentDatabase() AND name = 'events'
