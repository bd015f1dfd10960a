-- Parked deliveries of a destination that can be replayed, oldest first. Key: app, destination, created, id, from the
-- keyset on; the rows of the days for which deliveries stay parked. Rows returned: at most limit.
SELECT id, created, at, event_id, event, source_event, status, attempts, next, code, latency, test, error, request, response, payload
FROM deliveries FINAL
WHERE app = {app:String} AND destination = {destination:String} AND status = 'parked' AND payload != '' AND at >= {since:DateTime64(3, 'UTC')}
    AND ({first_page:Bool} OR created > {after:DateTime64(3, 'UTC')} OR created = {after:DateTime64(3, 'UTC')} AND id > {after_id:String})
    AND ({id:String} = '' OR id = {id:String})
ORDER BY created, id
LIMIT {limit:UInt32}
