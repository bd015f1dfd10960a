-- Some records of the journal. Key: none, it holds what was written in the last second or so.
SELECT key, record
FROM journal
LIMIT {limit:UInt32}
