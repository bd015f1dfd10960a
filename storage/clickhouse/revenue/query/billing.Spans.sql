-- Shows whether billing items of an environment were stored since the last read, and approximately when: the blocks of
-- some five hours share one span. Key: environment. Rows read: the numbers of the blocks of all items; returned: one
-- per span with items.
SELECT bitShiftRight(block, 46) AS span, count() AS items, sum(cityHash64(block)) AS sum
FROM billing
WHERE environment = {environment:UInt64}
GROUP BY span
