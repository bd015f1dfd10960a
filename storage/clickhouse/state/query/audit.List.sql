-- Audit rows before a position, newest first. Key: org, at, if an organization is given. Rows: the rows of the given
-- time range, of all organizations if none is given.
SELECT toUnixTimestamp64Milli(at), id, org, app, request_id, operation, method, path, status, token_id, token_kind, user_id, detail
FROM audit_rows FINAL
WHERE ({org:String} = '' OR org = {org:String}) AND ({app:String} = '' OR app = {app:String})
    AND ({operation:String} = '' OR operation = {operation:String})
    AND ({user_id:String} = '' OR user_id = {user_id:String}) AND ({token_id:String} = '' OR token_id = {token_id:String})
    AND at >= {since:DateTime64(3, 'UTC')} AND at < {until:DateTime64(3, 'UTC')}
    AND (at, id) < ({before_at:DateTime64(3, 'UTC')}, {before_id:String})
ORDER BY at DESC, id DESC
LIMIT {limit:UInt32}
