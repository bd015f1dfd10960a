-- Source maps, one row a key. The rows follow.
INSERT INTO source_maps (app, key, at, content, bytes)
