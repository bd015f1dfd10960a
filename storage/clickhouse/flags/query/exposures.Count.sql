-- The number of persons by the variant that they were served first. Key: see exposures.Persons. Rows returned: one per
-- variant.
SELECT variant, count() AS persons, countIf(variants > 1) AS several
FROM ($(exposures.Persons))
GROUP BY variant
ORDER BY variant
