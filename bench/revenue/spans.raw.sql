SELECT bitShiftRight(block, 46) AS span, count() AS items, sum(cityHash64(block)) AS sum
FROM billing
WHERE environment = {environment:UInt64}
GROUP BY span
FORMAT Null
