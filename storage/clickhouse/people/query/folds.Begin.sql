-- Inserts the mark of a number, a row of person 0, before its profiles. A truncation also removes the mark. Key: none.
INSERT INTO person_folds (number, person) VALUES ({number:UInt64}, 0)
