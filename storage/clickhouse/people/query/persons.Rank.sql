-- A page of the persons of an environment that meet a condition, those first seen last before others:
-- numbers and when they were first seen. The rows are facts of visitors; those of split sources are left out
-- for shared visitors, whose facts come once more for each person (fixed). Key: environment of the
-- tables of the facts, links and roots. Rows read: one per visitor; returned: at most limit.
SELECT person, $(began) AS began
FROM
(
    SELECT if(f.fixed != 0, f.fixed, if(empty(l.spans), f.visitor, l.spans[-1].2)) AS person, f.*
    FROM ($(rows)) AS f
    LEFT JOIN ($(persons.Links)) AS l ON l.visitor = f.visitor
    WHERE f.fixed != 0 OR NOT f.split OR length(l.spans) <= 1
)
GROUP BY person
HAVING $(seen) > 0 AND ($(where))
    AND ({first_page:Bool} OR began < {after_began:Int64} OR (began = {after_began:Int64} AND person < {after_person:UInt64}))
ORDER BY began DESC, person DESC
LIMIT {limit:UInt32}
