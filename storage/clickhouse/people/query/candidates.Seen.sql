-- When candidates were first seen, and, as at the end of time, which visitors several persons share. Key: environment of profiles, links and roots. Rows
-- read: those of the candidates, one per visitor of profiles, one per link, and those of persons.Tied; returned: at most one per candidate and shared visitor.
$(persons.First)
UNION ALL
SELECT anonymous AS visitor, toInt64(9223372036854775807) AS first
FROM links
WHERE environment = {environment:UInt64} AND known != anonymous
GROUP BY anonymous
HAVING min(known) != max(known)
UNION ALL
SELECT visitor, toInt64(9223372036854775807) AS first
FROM ($(persons.Tied))
