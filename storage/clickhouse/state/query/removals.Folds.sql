-- Removes what is kept of people for quick lists; the parts do not say of which environment they are. Key: none.
TRUNCATE TABLE person_folds
