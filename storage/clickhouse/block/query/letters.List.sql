-- Waiting dead letters, newest first, of one environment or of all. Key: environment. Rows: all letters, which are
-- few.
SELECT id, environment, toString(kind) AS kind, at, reason, length(payload) AS bytes
FROM dead_letters FINAL
WHERE ended = '' AND ({environment:UInt64} = 0 OR environment = {environment:UInt64})
ORDER BY at DESC, id
LIMIT {limit:UInt32}
