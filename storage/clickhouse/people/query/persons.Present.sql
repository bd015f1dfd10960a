-- Those among some visitors of whom events are left. Key: environment, visitor. Rows returned: at most one per visitor.
SELECT DISTINCT visitor
FROM profiles
WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
