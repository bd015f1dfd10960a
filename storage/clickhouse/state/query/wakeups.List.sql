-- All wake-ups, with the versions of their writes. Key: none, the whole table is read: a row per wish, about 10 ms per 100,000. A
-- node asks when it takes partitions over, once for all that it takes together.
SELECT kind, identity, name, due, version
FROM wakeups FINAL
WHERE NOT deleted
