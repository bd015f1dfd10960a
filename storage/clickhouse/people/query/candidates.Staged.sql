-- The prefilter of a stage: visitors with a decision of a member for it, or with rows that imply it. No visitor of a
-- lead was identified or signed up, so a lead has rows of visitors that only set an address. Key: owner of entities;
-- environment. Rows read: one per person that members changed, and one per visitor of traits. Part of other queries.
SELECT DISTINCT visitor
FROM
(
    SELECT JSONExtract(payload, 'visitor', 'UInt64') AS visitor
    FROM entities FINAL
    WHERE owner >= {owner_from:String} AND owner < {owner_to:String} AND kind = 'person' AND NOT deleted AND JSONExtractString(payload, 'stage') = {stage:String}
    UNION ALL
    SELECT visitor FROM traits
    WHERE environment = {environment:UInt64} AND ({stage:String} = 'signup' AND (identified = 1 OR signed_up = 1) OR {stage:String} = 'lead' AND mailed = 1 AND identified = 0 AND signed_up = 0)
    UNION ALL
    SELECT visitor FROM activations WHERE environment = {environment:UInt64} AND {stage:String} = 'activated'
    UNION ALL
    SELECT cityHash64(customer) AS visitor FROM billing WHERE environment = {environment:UInt64} AND {stage:String} IN ('paying', 'churned') AND customer != ''
)
