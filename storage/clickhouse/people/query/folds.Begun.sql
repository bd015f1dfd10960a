-- Whether the mark of a number is present. If so, none of the profiles after it was removed. Key: number and person.
-- Rows returned: one.
SELECT count() > 0
FROM person_folds
WHERE number = {number:UInt64} AND person = 0
