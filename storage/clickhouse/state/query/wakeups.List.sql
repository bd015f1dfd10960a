-- All wake-ups, with the versions of their writes. Key: none; the whole table is read: a row per wake-up, about 10 ms
-- per 100,000. A node runs it when it takes over partitions, once for all of them together.
SELECT kind, identity, name, due, version
FROM wakeups FINAL
WHERE NOT deleted
