-- Removes all that was kept. Key: none.
TRUNCATE TABLE person_folds
