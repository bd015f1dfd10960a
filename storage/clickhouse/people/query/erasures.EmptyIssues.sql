-- The issues without an occurrence of any other visitor. Key: environment, issue. Rows returned: one per such issue.
SELECT issue
FROM occurrences
WHERE environment = {environment:UInt64}
    AND issue IN (SELECT issue FROM occurrences WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)})
GROUP BY issue
HAVING countIf(visitor NOT IN {visitors:Array(UInt64)}) = 0
