-- Whether any anonymous id of an environment was identified as two known ones, as shared visitors were. Key: environment of links. Rows
-- read: one per link.
SELECT count() > 0
FROM ($(persons.Behind))
