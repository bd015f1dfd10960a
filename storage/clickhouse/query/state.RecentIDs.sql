-- The ids of events that were received since an instant. Key: none; the index received
-- leaves the granules that hold such events, which are the newest of each environment.
-- Rows returned: the events received since, streamed.
SELECT environment, distinct_id, anonymous_id, id
FROM events
WHERE received_at >= {since:DateTime64(3, 'UTC')} AND block != {block:UInt64}
