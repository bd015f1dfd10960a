-- The number of links by which an anonymous id was identified as a further person, as on a device that people share.
-- The person that an alias ties the id to is its first one. Key: none; rows read: one per link, and one per alias,
-- twice. Rows returned: one.
SELECT toUInt64(sum(persons - 1))
FROM
(
    SELECT
        groupUniqArrayIf(if(r.root = 0, l.known, r.root), l.known != l.anonymous) AS others,
        length(others) + (any(own.root) != 0 AND NOT has(others, any(own.root))) AS persons
    FROM links AS l
    LEFT JOIN (SELECT environment, visitor, argMax(root, edges) AS root FROM roots GROUP BY environment, visitor) AS r ON r.environment = l.environment AND r.visitor = l.known
    LEFT JOIN (SELECT environment, visitor, argMax(root, edges) AS root FROM roots GROUP BY environment, visitor) AS own ON own.environment = l.environment AND own.visitor = l.anonymous
    WHERE (l.environment, l.anonymous) NOT IN (SELECT environment, visitor FROM splits)
    GROUP BY l.environment, l.anonymous
    HAVING persons > 1 AND NOT max(l.known = l.anonymous)
)
