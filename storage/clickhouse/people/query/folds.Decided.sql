-- Some of the visitors about whose persons members decided anything, or whom billing names. Key: owner of entities; environment and kind of
-- billing. Rows read: one per person that members changed, and one per change of a subscription; returned: at most limit.
SELECT visitor
FROM
(
    SELECT JSONExtract(payload, 'visitor', 'UInt64') AS visitor
    FROM entities FINAL
    WHERE owner >= {owner_from:String} AND owner < {owner_to:String} AND kind = 'person' AND NOT deleted
    UNION DISTINCT
    SELECT cityHash64(customer) AS visitor FROM billing WHERE environment = {environment:UInt64} AND kind = 'subscription' AND customer != ''
)
LIMIT {limit:UInt32}
