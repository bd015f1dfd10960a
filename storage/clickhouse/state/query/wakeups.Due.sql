-- Wake-ups that are due, the longest due first. Key: none, the whole table is read: a row
-- per wish, about 10 ms per 100,000. Rows returned: all that are due, as far as they are wanted:
-- a node takes its own.
SELECT kind, identity, name, due
FROM wakeups FINAL
WHERE due <= {at:DateTime64(3, 'UTC')} AND NOT deleted
ORDER BY due, kind, identity, name
