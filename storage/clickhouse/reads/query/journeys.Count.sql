-- How many visits met the start, up to one more than are looked at. Key: environment, ts. Rows read: the events of the
-- window; returned: one.
SELECT count() FROM ($(journeys.Sessions))
