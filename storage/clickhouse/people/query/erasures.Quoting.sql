-- The owners of conversations and inboxes of an application that quote a person. Key: owner. Rows read: the entities
-- of the conversations of the application; returned: one per owner.
SELECT DISTINCT owner
FROM entities
WHERE (startsWith(owner, {conversations:String}) OR startsWith(owner, {inboxes:String})) AND NOT deleted
    AND arrayExists(word -> positionCaseInsensitiveUTF8(payload, word) > 0, {words:Array(String)})
