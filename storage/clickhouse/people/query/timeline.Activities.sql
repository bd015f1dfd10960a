-- The activities of a person: actions of members. Key: owner. Rows returned: at most person.MaxActivities for each owner.
SELECT payload
FROM entities FINAL
WHERE owner IN {owners:Array(String)} AND kind = 'activity' AND NOT deleted
