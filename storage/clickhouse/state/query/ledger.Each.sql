-- The entries of all ledgers. Key: none; the whole table is read, to be copied to the log of state.
SELECT org, sequence, version, entry
FROM ledger FINAL
