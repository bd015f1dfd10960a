-- Removes the journal of an earlier version.
DROP TABLE IF EXISTS journal
