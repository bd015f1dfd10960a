-- The last version of every entity of some owners, but those of some kinds; the deleted ones among them. Key: owner. Rows: those
-- of the owners, with their neighbours in at most two granules of 1,024 for each.
SELECT owner, kind, id, version, deleted, payload
FROM entities FINAL
WHERE owner IN {owners:Array(String)} AND kind NOT IN {kinds:Array(String)}
ORDER BY owner, kind, id
