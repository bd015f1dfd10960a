-- Some records of the journal. Key: none; it holds the writes of about the last second.
SELECT key, record
FROM journal
LIMIT {limit:UInt32}
