-- A page of the failed checks of a monitor, newest first. Key: app, monitor, at, read backwards. Rows returned: at
-- most limit.
SELECT at, toString(status) AS status, code, toString(error) AS error, dns, connect, tls, first_byte, total, failures
FROM checks
WHERE app = {app:String} AND monitor = {monitor:String} AND failures > 0
    AND at >= {since:DateTime64(3, 'UTC')} AND at < {until:DateTime64(3, 'UTC')} AND ({first_page:Bool} OR at < {before:DateTime64(3, 'UTC')})
ORDER BY at DESC
LIMIT {limit:UInt32}
