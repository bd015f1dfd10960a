-- Audit rows. The rows follow.
INSERT INTO audit_rows (org, at, id, app, request_id, operation, method, path, status, token_id, token_kind, user_id, detail)
