-- Wake-ups that are due in a hundred years.
INSERT INTO wakeups (kind, identity, name, due, version, deleted)
SELECT 'bench', toString(number), 'look', now64(3) + toIntervalYear(100), bitShiftLeft(toUInt64(1), 32) + 1, false
FROM numbers({rows:UInt64})
