-- The present entities of one kind of all owners whose names begin alike. Key: owner. Rows: those of the owners.
SELECT owner, kind, id, version, deleted, payload
FROM entities FINAL
WHERE startsWith(owner, {prefix:String}) AND kind = {kind:String} AND NOT deleted
ORDER BY owner, id
