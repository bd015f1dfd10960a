-- A page of the deliveries of a destination, newest first. Key: app, destination, created, id, read backwards from the
-- keyset. With a status or an id, the newer deliveries that do not match are read too. Rows returned: at most limit.
SELECT id, created, at, event_id, event, source_event, status, attempts, next, code, latency, test, error, request, response, ''
FROM deliveries FINAL
WHERE app = {app:String} AND destination = {destination:String}
    AND ({first_page:Bool} OR created < {before:DateTime64(3, 'UTC')} OR created = {before:DateTime64(3, 'UTC')} AND id < {before_id:String})
    AND ({status:String} = '' OR status = {status:String}) AND ({id:String} = '' OR id = {id:String})
ORDER BY created DESC, id DESC
LIMIT {limit:UInt32}
