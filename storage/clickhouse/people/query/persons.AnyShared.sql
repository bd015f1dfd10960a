-- Whether any anonymous id of an environment belongs to several known ones, as shared visitors do. Key and rows read: those of
-- persons.Behind.
SELECT count() > 0
FROM ($(persons.Behind))
