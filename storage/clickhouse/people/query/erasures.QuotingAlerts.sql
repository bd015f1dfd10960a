-- The entities of an application's alert rules that quote a person: incidents, results of notices, and states and
-- notices in transit. Key: owner. Rows read: the entities of the alert rules of the application; returned: one per
-- entity.
SELECT kind, id, payload
FROM entities FINAL
WHERE owner = {owner:String} AND kind IN ('incident', 'notice', 'alert_state', 'delivery') AND NOT deleted
    AND arrayExists(word -> positionCaseInsensitiveUTF8(payload, word) > 0, {words:Array(String)})
