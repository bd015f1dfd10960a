-- What became of the notices of an incident, whose records' ids begin with its id. Key: owner, kind, id. Rows: those of the
-- incident.
SELECT payload
FROM entities FINAL
WHERE owner = {owner:String} AND kind = 'notice' AND startsWith(id, {prefix:String}) AND NOT deleted
ORDER BY id
