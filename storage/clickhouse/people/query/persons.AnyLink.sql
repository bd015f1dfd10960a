-- Whether any two visitors of an environment are one person. Key: environment of links and roots.
SELECT count() > 0
FROM
(
    (SELECT anonymous AS visitor FROM links WHERE environment = {environment:UInt64} AND anonymous != known LIMIT 1)
    UNION ALL
    (SELECT visitor FROM roots WHERE environment = {environment:UInt64} LIMIT 1)
)
