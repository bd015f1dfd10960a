-- Source maps, one row per key. The rows follow.
INSERT INTO source_maps (app, key, at, content, bytes)
