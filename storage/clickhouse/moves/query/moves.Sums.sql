-- The numbers of events, occurrences and points of an environment that do not expire within a day, with checksums over
-- their names and blocks, as one text. Key: environment. Rows returned: one.
SELECT toString((
    (SELECT (count(), sum(cityHash64(id, block))) FROM events WHERE environment = {environment:UInt64} AND expires > today() + 1),
    (SELECT (count(), sum(cityHash64(id, block))) FROM occurrences WHERE environment = {environment:UInt64} AND expires > today() + 1),
    (SELECT (count(), sum(cityHash64(series, ts, block))) FROM metric_points WHERE environment = {environment:UInt64} AND expires > today() + 1)
)) AS sums
