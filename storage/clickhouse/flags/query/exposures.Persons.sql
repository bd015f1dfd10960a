-- The persons that were served a flag within a window, each with the variant and the time of the first exposure, and
-- the number of different variants. An exposure of a shared device belongs to the owner of the device at the time.
-- Key: environment, flag of exposures; environment of links and roots. Rows read: one per visitor and variant;
-- returned: one per person. Part of other queries.
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
