-- What members decided about persons. Key: owner. Rows returned: one per person of whom anything was
-- decided.
SELECT owner, payload
FROM entities FINAL
WHERE owner IN {owners:Array(String)} AND kind = 'person' AND NOT deleted
