-- Versions of entities. The rows follow.
INSERT INTO entities (owner, kind, id, version, deleted, payload)
