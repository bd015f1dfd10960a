-- Which of some conditions a person meets; the facts are those of the person's visitors. Key: environment, visitor of the
-- tables of the facts. Rows returned: one, none where nothing of the person is left.
SELECT [$(meets)]
FROM ($(folded))
WHERE person = {person:UInt64}
