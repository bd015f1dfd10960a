-- The known ids of shared devices without events. Their persons may have only a part of the events of such a device.
-- Key: environment and anonymous of links, environment and visitor of profiles. Rows returned: at most one per device
-- and known id, and at most limit.
SELECT DISTINCT known
FROM links
WHERE environment = {environment:UInt64} AND anonymous IN $(devices) AND known != anonymous
    AND known NOT IN
    (
        SELECT visitor
        FROM profiles
        WHERE environment = {environment:UInt64}
            AND visitor IN (SELECT known FROM links WHERE environment = {environment:UInt64} AND anonymous IN $(devices) AND known != anonymous)
    )
LIMIT {limit:UInt32}
