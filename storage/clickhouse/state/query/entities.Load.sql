-- The last version of every entity of some owners, including deleted ones, except some kinds. Key: owner. Rows: the
-- rows of the owners, with their neighbours in at most two granules of 1,024 for each.
SELECT owner, kind, id, version, deleted, payload
FROM entities FINAL
WHERE owner IN {owners:Array(String)} AND kind NOT IN {kinds:Array(String)}
ORDER BY owner, kind, id
