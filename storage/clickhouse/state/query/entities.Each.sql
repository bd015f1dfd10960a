-- All entities, the deleted ones among them. Key: none, the whole table is read, to be copied to the log of state.
SELECT owner, kind, id, version, deleted, payload
FROM entities FINAL
