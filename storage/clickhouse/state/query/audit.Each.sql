-- All audit rows. Key: none; the whole table is read, to be copied to the log of state.
SELECT toUnixTimestamp64Milli(at), id, org, app, request_id, operation, method, path, status, token_id, token_kind, user_id, detail
FROM audit_rows FINAL
