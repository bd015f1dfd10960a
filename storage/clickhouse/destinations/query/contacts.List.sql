-- How the persons of visitors are reached: what was told of the visitor itself, else of the one that it was last
-- identified as. Key: environment, visitor of traits; environment, anonymous of links. Rows returned: one per visitor of whom
-- anything is known.
WITH known AS
(
    SELECT anonymous AS visitor, argMax(known, since) AS person
    FROM
    (
        SELECT anonymous, known, min(first) AS since
        FROM links
        WHERE environment = {environment:UInt64} AND anonymous IN {visitors:Array(UInt64)}
        GROUP BY anonymous, known
    )
    GROUP BY anonymous
),
told AS
(
    SELECT visitor, max(email) AS mail, max(name) AS called, maxMap(traits) AS of
    FROM traits
    WHERE environment = {environment:UInt64}
        AND (visitor IN {visitors:Array(UInt64)} OR visitor IN (SELECT person FROM known))
    GROUP BY visitor
)
SELECT asked.visitor, if(known.person = 0, asked.visitor, known.person) AS person, told.mail, told.called, told.of
FROM (SELECT arrayJoin({visitors:Array(UInt64)}) AS visitor) AS asked
LEFT JOIN known ON known.visitor = asked.visitor
INNER JOIN told ON told.visitor = if(known.person = 0, asked.visitor, known.person)
