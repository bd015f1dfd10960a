-- The blocks of some spans that have billing items of an environment. Key: environment. Rows read: the numbers of the blocks of all items.
SELECT DISTINCT block
FROM billing
WHERE environment = {environment:UInt64} AND bitShiftRight(block, 46) IN {spans:Array(UInt64)}
