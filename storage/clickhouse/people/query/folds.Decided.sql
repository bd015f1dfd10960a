-- Some of the visitors of the persons with decisions of members. Key: owner of entities. Rows read: one per person
-- that members changed; returned: at most limit.
SELECT JSONExtract(payload, 'visitor', 'UInt64') AS visitor
FROM entities FINAL
WHERE owner >= {owner_from:String} AND owner < {owner_to:String} AND kind = 'person' AND NOT deleted
LIMIT {limit:UInt32}
