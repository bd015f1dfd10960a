-- The current entities of one kind of all owners with a name prefix. Key: owner. Rows: the rows of the owners.
SELECT owner, kind, id, version, deleted, payload
FROM entities FINAL
WHERE startsWith(owner, {prefix:String}) AND kind = {kind:String} AND NOT deleted
ORDER BY owner, id
