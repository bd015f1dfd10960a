-- Versions of wake-ups. The rows follow.
INSERT INTO wakeups (kind, identity, name, due, version, deleted)
