-- Marks the beginning of what is kept under a number: a row of person 0, which is nobody. Whatever removes what was kept before removes it first. Key: none.
INSERT INTO person_folds (number, person) VALUES ({number:UInt64}, 0)
