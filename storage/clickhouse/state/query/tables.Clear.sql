-- Removes the whole state of actors, which a log of state also holds. Key: none, drops whole parts.
TRUNCATE TABLE entities;
TRUNCATE TABLE wakeups;
TRUNCATE TABLE ledger;
TRUNCATE TABLE audit_rows
