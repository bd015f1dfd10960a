-- Entries of ledgers. The rows follow.
INSERT INTO ledger (org, sequence, version, kind, entry)
