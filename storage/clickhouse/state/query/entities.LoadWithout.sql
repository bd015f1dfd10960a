-- The last version of every entity of one owner, but those of a kind; the deleted ones among them. Key: owner. Rows: those of
-- the owner.
SELECT owner, kind, id, version, deleted, payload
FROM entities FINAL
WHERE owner = {owner:String} AND kind != {kind:String}
ORDER BY kind, id
