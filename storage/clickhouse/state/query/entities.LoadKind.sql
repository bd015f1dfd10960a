-- The current entities of one kind of all owners. Key: none; the index kinds selects the granules with the kind. They
-- are adjacent, because an owner's name begins with the kind of its actor.
SELECT owner, kind, id, version, deleted, payload
FROM entities FINAL
WHERE kind = {kind:String} AND NOT deleted
ORDER BY owner, id
