-- The rows of persons.Ties for all visitors of an environment. Key: environment of links, roots and splits. Rows
-- returned: at most limit.
SELECT *
FROM
(
    SELECT anonymous AS visitor, known, toUnixTimestamp64Milli(min(first)) AS since, toUInt64(0) AS root, toInt64(0) AS at
    FROM links
    WHERE environment = {environment:UInt64}
    GROUP BY anonymous, known
    UNION ALL
    SELECT visitor, toUInt64(0), toInt64(0), argMax(root, edges), toInt64(0)
    FROM roots
    WHERE environment = {environment:UInt64}
    GROUP BY visitor
    UNION ALL
    SELECT visitor, any(late), any(since), toUInt64(0), at
    FROM splits
    WHERE environment = {environment:UInt64}
    GROUP BY visitor, at
)
LIMIT {limit:UInt32}
