-- Removes the profiles of a number. Key: the number.
ALTER TABLE person_folds DROP PARTITION $(number)
