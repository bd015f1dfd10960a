-- Entities of actors that are never called.
INSERT INTO entities (owner, kind, id, version, deleted, payload)
SELECT concat('bench/', toString(number)), 'thing', 'thing', bitShiftLeft(toUInt64(1), 32) + 1, false, concat('{"n":', toString(number), ',"text":"', repeat('x', 300), '"}')
FROM numbers({rows:UInt64})
