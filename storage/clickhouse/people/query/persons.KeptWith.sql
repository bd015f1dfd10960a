-- persons.Kept with folds of facts that are not materialized, which come from visitors. Key: number of person_folds,
-- and the keys of the facts. Rows read: one per person, twice, and one per visitor of the facts. Part of other
-- queries.
SELECT *
FROM
(
    SELECT multiIf(f.fixed != 0, f.fixed, l.home != 0, l.home, f.visitor) AS person$(others)
    FROM ($(rows)) AS f
    LEFT JOIN
    (
        SELECT arrayJoin(linked) AS visitor, person AS home
        FROM person_folds
        WHERE number = {kept:UInt64}
        UNION ALL
        SELECT one.1, one.2 FROM (SELECT arrayJoin(arrayZip({sharers:Array(UInt64)}, {homes:Array(UInt64)})) AS one)
    ) AS l ON l.visitor = f.visitor
    WHERE f.fixed != 0 OR NOT f.split OR f.visitor NOT IN {sharers:Array(UInt64)}
    GROUP BY person
) AS o
RIGHT JOIN ($(persons.Kept)) AS k USING (person)
