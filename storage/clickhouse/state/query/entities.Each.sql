-- All entities, including deleted ones. Key: none; the whole table is read, to be copied to the log of state.
SELECT owner, kind, id, version, deleted, payload
FROM entities FINAL
