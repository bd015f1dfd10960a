-- The outcomes of the notices of an incident; the ids of their records begin with the incident's id. Key: owner, kind,
-- id. Rows: the records of the incident.
SELECT payload
FROM entities FINAL
WHERE owner = {owner:String} AND kind = 'notice' AND startsWith(id, {prefix:String}) AND NOT deleted
ORDER BY id
