-- The last version of every entity of one owner, the deleted ones among them. Key: owner. Rows: those of the owner, with their
-- neighbours in at most two granules of 1,024.
SELECT owner, kind, id, version, deleted, payload
FROM entities FINAL
WHERE owner = {owner:String}
ORDER BY kind, id
