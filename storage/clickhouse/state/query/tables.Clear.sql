-- Removes all that actors own, for a log that holds it. Key: none, drops whole parts.
TRUNCATE TABLE entities;
TRUNCATE TABLE wakeups;
TRUNCATE TABLE ledger;
TRUNCATE TABLE audit_rows
