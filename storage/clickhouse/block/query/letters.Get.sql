-- Waiting dead letters by id. Key: none. Rows: all letters, which are few.
SELECT id, environment, toString(kind) AS kind, partition, at, reason, payload
FROM dead_letters FINAL
WHERE ended = '' AND id IN {ids:Array(String)}
ORDER BY at, id
