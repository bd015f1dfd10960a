-- The decisions that removed ids from persons: all of an environment, or the decisions about some visitors. Key:
-- environment, visitor. Rows returned: one per decision.
SELECT visitor, at, any(since), any(late), any(devices)
FROM splits
WHERE environment = {environment:UInt64} AND (empty({only:Array(UInt64)}) OR visitor IN {only:Array(UInt64)})
GROUP BY visitor, at
ORDER BY visitor, at
