-- Removes all materialized profiles. Key: none.
TRUNCATE TABLE person_folds
