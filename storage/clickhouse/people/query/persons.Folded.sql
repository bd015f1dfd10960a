-- The values that conditions need of the persons of an environment: when they were first seen, how many events they
-- have, and folds of facts. The rows are facts of visitors. For a shared visitor, facts of split sources come once for
-- each person (fixed), and its undivided rows are left out. Other sources count a shared visitor for persons.Home.
-- Key: environment of the tables of the facts, links and roots. Rows read: one per visitor. Part of other queries.
SELECT person, $(began) AS began, $(seen) AS seen$(folds)
FROM
(
    SELECT if(f.fixed != 0, f.fixed, if(empty(l.spans), f.visitor, $(persons.Home))) AS person, length(l.spans) <= 1 AS alone, f.*
    FROM ($(rows)) AS f
    LEFT JOIN ($(links)) AS l ON l.visitor = f.visitor
    WHERE f.fixed != 0 OR NOT f.split OR length(l.spans) <= 1
)
GROUP BY person
HAVING seen > 0
