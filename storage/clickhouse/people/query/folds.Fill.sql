-- Materializes the profiles of people of an environment. Key: the key of persons.Folded. Rows read: one per visitor,
-- of all materialized sources.
INSERT INTO person_folds (number, person, began, seen, $(names))
SELECT {number:UInt64}, person, began, seen, $(values)
FROM ($(folded))
WHERE $(where)
