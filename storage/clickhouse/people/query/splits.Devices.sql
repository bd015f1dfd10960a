-- Ties the devices of later numbers of an id to the id. It may be repeated. Key: environment. The index of known skips
-- granules.
INSERT INTO links (environment, anonymous, known, first)
SELECT environment, anonymous, {visitor:UInt64}, min(first)
FROM links
WHERE environment = {environment:UInt64} AND known IN {nodes:Array(UInt64)} AND anonymous NOT IN {nodes:Array(UInt64)}
GROUP BY environment, anonymous
