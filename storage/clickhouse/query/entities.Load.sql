-- The present entities of one owner. Key: owner. Rows: those of the owner, with their
-- neighbours in at most two granules of 1,024.
SELECT owner, kind, id, version, deleted, payload
FROM entities FINAL
WHERE owner = {owner:String} AND NOT deleted
ORDER BY kind, id
