-- The traits of visitors, and whether they reached a goal. Key: environment, visitor. Rows returned: one per visitor
-- with any of these.
SELECT visitor, max(identified), max(signed_up), max(mailed), max(activated), max(email), max(name), max(company), maxMap(traits), minMap(once)
FROM
(
    SELECT visitor, identified, signed_up, mailed, toUInt8(0) AS activated, email, name, company, traits, once
    FROM traits
    WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
    UNION ALL
    SELECT visitor, 0, 0, 0, 1, '', '', '', map(), map()
    FROM activations
    WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
)
GROUP BY visitor
