-- The number of visits that met the start, up to one more than the limit. Key: environment, ts. Rows read: the events
-- of the window; returned: one.
SELECT count() FROM ($(journeys.Sessions))
