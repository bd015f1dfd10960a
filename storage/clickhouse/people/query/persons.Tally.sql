-- How many persons of an environment meet each of some conditions. Key: the key of persons.Folded. Rows read: one per
-- visitor; returned: one.
SELECT [$(tallies)]
FROM ($(folded))
WHERE $(where)
