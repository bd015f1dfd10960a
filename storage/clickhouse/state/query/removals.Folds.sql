-- Removes the folded people that are stored for fast lists. The parts do not record their environment. Key: none.
TRUNCATE TABLE person_folds
