-- Whether any anonymous id of an environment belongs to several persons. Key: environment of links and roots. Rows read: those of persons.Behind
-- and persons.Tied.
SELECT count() > 0
FROM
(
    SELECT behind FROM ($(persons.Behind))
    UNION ALL
    SELECT visitor AS behind FROM ($(persons.Tied))
)
