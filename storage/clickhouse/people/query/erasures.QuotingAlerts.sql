-- What the alert rules of an application keep that quotes a person: incidents, what became of notices, and states and notices on their way.
-- Key: owner. Rows read: the entities of the alert rules of the application; returned: one per entity.
SELECT kind, id, payload
FROM entities FINAL
WHERE owner = {owner:String} AND kind IN ('incident', 'notice', 'alert_state', 'delivery') AND NOT deleted
    AND arrayExists(word -> positionCaseInsensitiveUTF8(payload, word) > 0, {words:Array(String)})
