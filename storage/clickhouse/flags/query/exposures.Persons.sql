-- The persons who were served a flag within a window, each with the variant and the time of their first sight, and of
-- how many variants they were. Key: environment, flag of exposures; environment of links and roots. Rows read: one per
-- visitor and variant; returned: one per person. Part of other queries.
SELECT person, argMin(shown, sight) AS variant, min(sight) AS since, uniqExact(shown) AS variants
FROM
(
    SELECT if(empty(l.spans), e.visitor, l.spans[-1].2) AS person, e.variant AS shown, min(e.first) AS sight
    FROM flag_exposures AS e
    LEFT JOIN ($(persons.Links)) AS l ON l.visitor = e.visitor
    WHERE e.environment = {environment:UInt64} AND e.flag = {flag:String}
    GROUP BY person, shown
)
GROUP BY person
HAVING since >= {from:DateTime64(3, 'UTC')} AND since < {to:DateTime64(3, 'UTC')}
