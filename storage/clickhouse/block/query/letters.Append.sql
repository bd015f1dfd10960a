-- Dead letters. The rows follow.
INSERT INTO dead_letters (id, environment, kind, partition, at, reason, payload, ended, version)
