-- The last version of every entity of one owner, but those of some kinds; the deleted ones among them. Key: owner. Rows: those of
-- the owner.
SELECT owner, kind, id, version, deleted, payload
FROM entities FINAL
WHERE owner = {owner:String} AND kind NOT IN {kinds:Array(String)}
ORDER BY kind, id
