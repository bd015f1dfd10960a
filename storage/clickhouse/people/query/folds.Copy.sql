-- Copies the unchanged profiles of another number. Key: number of person_folds. Rows read: one per person.
INSERT INTO person_folds
SELECT * REPLACE ({number:UInt64} AS number, now() AS made)
FROM (SELECT * FROM person_folds WHERE number = {kept:UInt64} AND person != 0 AND person NOT IN {changed:Array(UInt64)})
