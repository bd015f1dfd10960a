-- Entries of an organization's ledger before a sequence, newest first. Key: org, sequence. Rows: the rows of the page,
-- more if a kind is given.
SELECT entry
FROM ledger FINAL
WHERE org = {org:String} AND sequence < {before:UInt64} AND ({kind:String} = '' OR kind = {kind:String})
ORDER BY sequence DESC
LIMIT {limit:UInt32}
