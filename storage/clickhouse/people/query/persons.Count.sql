-- How many persons of an environment meet a condition; the rows are those of persons.Rank. Key: environment of the
-- tables of the facts, links and roots. Rows read: one per visitor; returned: one.
SELECT count()
FROM
(
    SELECT person
    FROM
    (
        SELECT if(f.fixed != 0, f.fixed, if(empty(l.spans), f.visitor, l.spans[-1].2)) AS person, f.*
        FROM ($(rows)) AS f
        LEFT JOIN ($(persons.Links)) AS l ON l.visitor = f.visitor
        WHERE f.fixed != 0 OR NOT f.split OR length(l.spans) <= 1
    )
    GROUP BY person
    HAVING $(seen) > 0 AND ($(where))
)
