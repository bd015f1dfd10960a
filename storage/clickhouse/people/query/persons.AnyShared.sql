-- Whether any anonymous id of an environment belongs to several known ones, or to one beside whom an alias ties it to, as shared visitors
-- do. Key: environment of links and roots. Rows read: those of persons.Behind.
SELECT count() > 0
FROM ($(persons.Behind))
