-- The number of waiting dead letters, by environment and kind. Key: none. Rows: all letters, which are few.
SELECT environment, toString(kind) AS kind, count() AS letters, min(at) AS oldest, max(at) AS newest
FROM dead_letters FINAL
WHERE ended = ''
GROUP BY environment, kind
ORDER BY letters DESC, environment, kind
LIMIT 1000
