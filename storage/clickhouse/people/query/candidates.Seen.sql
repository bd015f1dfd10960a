-- When candidates were first seen; of those that several persons share, the end of time. Key: environment, visitor of profiles; environment,
-- anonymous of links. Rows returned: at most two per candidate.
SELECT visitor, toUnixTimestamp64Milli(min(first_seen)) AS first
FROM profiles
WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
GROUP BY visitor
UNION ALL
SELECT anonymous AS visitor, toInt64(9223372036854775807) AS first
FROM links
WHERE environment = {environment:UInt64} AND anonymous IN {visitors:Array(UInt64)} AND known != anonymous
GROUP BY anonymous
HAVING min(known) != max(known)
