-- What members did with a person. Key: owner. Rows returned: at most svc.MaxActivities for each owner.
SELECT payload
FROM entities FINAL
WHERE owner IN {owners:Array(String)} AND kind = 'activity' AND NOT deleted
