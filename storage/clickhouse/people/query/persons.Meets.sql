-- Whether a person meets each of some conditions, from the facts of the person's visitors. Key: environment, visitor
-- of the tables of the facts. Rows returned: one, or none if the person has no rows left.
SELECT [$(meets)]
FROM ($(folded))
WHERE person = {person:UInt64}
