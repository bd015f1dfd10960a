-- Whether any visitor of an environment is shared. Key: environment of links and roots.
SELECT count() > 0
FROM ($(persons.Shared))
