-- Key: none, it inserts state of shard 0 into another one.
INSERT INTO entities (owner, kind, id, version, deleted, payload)
