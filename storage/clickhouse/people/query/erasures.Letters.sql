-- The dead letters of an environment that quote a person. Key: environment. Rows returned: at most one month of dead
-- letters.
SELECT id
FROM dead_letters
WHERE environment = {environment:UInt64} AND arrayExists(word -> position(payload, word) > 0, {words:Array(String)})
