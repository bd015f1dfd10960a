-- The decisions of members about persons. Key: owner. Rows returned: one per person with a decision.
SELECT owner, payload
FROM entities FINAL
WHERE owner IN {owners:Array(String)} AND kind = 'person' AND NOT deleted
