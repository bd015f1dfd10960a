-- The issues and people of some owners, including deleted ones. Key: owner. Rows: the rows of the owners.
SELECT owner, toString(kind), id, version, deleted, payload
FROM entities FINAL
WHERE $(owned) AND kind IN ('issue', 'person')
