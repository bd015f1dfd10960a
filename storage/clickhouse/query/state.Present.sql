-- The issues and people of some owners, the deleted ones among them. Key: owner. Rows: those of the owners.
SELECT owner, toString(kind), id, version, deleted, payload
FROM entities FINAL
WHERE $(owned) AND kind IN ('issue', 'person')
