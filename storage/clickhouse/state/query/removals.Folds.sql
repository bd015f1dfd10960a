-- Removes the data about people that is stored for quick lists. The parts do not record their environment. Key: none.
TRUNCATE TABLE person_folds
