-- Key: none; it inserts state of shard 0 into another shard.
INSERT INTO entities (owner, kind, id, version, deleted, payload)
