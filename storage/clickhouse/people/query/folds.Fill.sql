-- Keeps people of an environment. Key: that of persons.Folded. Rows read: one per visitor, of all sources that are kept.
INSERT INTO person_folds (number, person, began, seen, $(names))
SELECT {number:UInt64}, person, began, seen, $(values)
FROM ($(folded))
WHERE $(where)
