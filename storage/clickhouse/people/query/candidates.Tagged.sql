-- The prefilter of a tag: visitors of the persons for which members set or removed it. Key: owner of entities. Rows
-- read: one per person that members changed. Part of other queries.
SELECT JSONExtract(payload, 'visitor', 'UInt64') AS visitor
FROM entities FINAL
WHERE owner >= {owner_from:String} AND owner < {owner_to:String} AND kind = 'person' AND NOT deleted AND JSONHas(payload, 'tags', {tag:String})
