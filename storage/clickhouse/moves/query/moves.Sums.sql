-- How many events, occurrences and points an environment has that do not expire within a day, with sums over their names and
-- blocks, as one text. Key: environment. Rows returned: one.
SELECT toString((
    (SELECT (count(), sum(cityHash64(id, block))) FROM events WHERE environment = {environment:UInt64} AND expires > today() + 1),
    (SELECT (count(), sum(cityHash64(id, block))) FROM occurrences WHERE environment = {environment:UInt64} AND expires > today() + 1),
    (SELECT (count(), sum(cityHash64(series, ts, block))) FROM metric_points WHERE environment = {environment:UInt64} AND expires > today() + 1)
)) AS sums
