-- One incident of an owner. Key: owner, kind, id.
SELECT payload
FROM entities FINAL
WHERE owner = {owner:String} AND kind = 'incident' AND id = {name:String} AND NOT deleted
