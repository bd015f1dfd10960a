-- The known ids that share an anonymous id with each other. Key: environment of links. Rows read: one per link. Part of other queries.
SELECT known AS behind
FROM links
WHERE environment = {environment:UInt64} AND anonymous != known
    AND anonymous IN
    (
        SELECT anonymous
        FROM links
        WHERE environment = {environment:UInt64} AND anonymous != known
        GROUP BY anonymous
        HAVING min(known) != max(known)
    )
