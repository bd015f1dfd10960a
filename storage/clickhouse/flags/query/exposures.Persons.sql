-- The persons who were served a flag within a window, each with the variant and the time of their first sight, and of
-- how many variants they were. What a shared device was served belongs to whose device it was then. Key: environment, flag of exposures;
-- environment of links and roots. Rows read: one per visitor and variant; returned: one per person. Part of other queries.
SELECT person, argMin(shown, sight) AS variant, min(sight) AS since, uniqExact(shown) AS variants
FROM
(
    SELECT
        if(empty(l.spans), e.visitor, $(persons.At)) AS person,
        e.variant AS shown, min(e.ts) AS sight
    FROM
    (
        SELECT visitor, variant, min(first) AS ts
        FROM flag_exposures
        WHERE environment = {environment:UInt64} AND flag = {flag:String}
        GROUP BY visitor, variant
    ) AS e
    LEFT JOIN ($(persons.Links)) AS l ON l.visitor = e.visitor
    GROUP BY person, shown
)
GROUP BY person
HAVING since >= {from:DateTime64(3, 'UTC')} AND since < {to:DateTime64(3, 'UTC')}
