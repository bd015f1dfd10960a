-- Removes what was kept under a number. Key: the number.
ALTER TABLE person_folds DROP PARTITION $(number)
