-- How many persons were served each variant first. Key: see exposures.Persons. Rows returned: one per variant.
SELECT variant, count() AS persons, countIf(variants > 1) AS several
FROM ($(exposures.Persons))
GROUP BY variant
ORDER BY variant
